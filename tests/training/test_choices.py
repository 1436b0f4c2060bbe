import pytest
import torch

from edgewise.errors import ArgumentError
from edgewise.training import How
from edgewise.training.choices import choose_compiling, choose_device, choose_precision, timed


def test_the_precision_that_is_clearly_faster_is_chosen() -> None:
    assert choose_precision("auto", {"float32": 0.0200, "bfloat16": 0.0101}.__getitem__) == (
        "bfloat16",
        "a trial step took 10.1 ms, in float32 20.0 ms",
    )
    assert choose_precision("auto", {"float32": 0.0200, "bfloat16": 0.0190}.__getitem__) == (
        "float32",
        "a trial step took 20.0 ms, in bfloat16 19.0 ms: too little gained",
    )


def test_what_is_asked_for_is_done_without_a_trial() -> None:
    assert choose_precision("bfloat16", {}.__getitem__) == ("bfloat16", "as asked")
    assert choose_compiling("no", 10, lambda: 1 / 0, "cpu") == ("no", "as asked")
    assert choose_device("cpu") == ("cpu", "as asked")


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_the_device_is_the_cpu() -> None:
    assert choose_device("auto") == ("cpu", f"no GPU is here; {torch.get_num_threads()} threads")
    for device in ("cuda", "tpu"):
        with pytest.raises(ArgumentError) as mistake:
            choose_device(device)
        assert str(mistake.value) == (
            f"device must be auto, cpu or, where a GPU is, cuda; got {device!r}, and here is no such device"
        )


def test_words_and_numbers_outside_their_range_are_named() -> None:
    for wrong, message in (
        ({"precision": "half"}, "precision must be auto, float32 or bfloat16; got 'half'"),
        ({"compiled": "maybe"}, "compiled must be auto, yes or no; got 'maybe'"),
        ({"save_seconds": 0}, "save_seconds must be above 0; got 0"),
    ):
        with pytest.raises(ArgumentError) as mistake:
            How(**wrong)  # pyright: ignore[reportArgumentType]
        assert str(mistake.value) == message


def test_a_trial_counts_the_fastest_of_some_steps() -> None:
    calls: list[int] = []
    assert 0 <= timed(lambda: calls.append(1), times=4) < 1
    assert len(calls) == 5
