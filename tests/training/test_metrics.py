import json
import sys
from pathlib import Path

import pytest

from edgewise.errors import MissingError
from edgewise.training import Evaluated, Progress, Stepped
from edgewise.training.metrics import Metrics, TensorBoard, read_metrics


def write(path: Path, progress: Progress, steps: range) -> None:
    metrics = Metrics(path)
    metrics.begun(progress, 10)
    for step in steps:
        metrics.stepped(Stepped(step, 1 / step, 1e-3, 0.5, 1000.4, step / 2))
        metrics.evaluated(Evaluated(step, 2 / step, 1 / step, step == 1, step / 2))
    metrics.ended()


def test_a_line_a_step_and_a_line_an_evaluation(tmp_path: Path) -> None:
    write(tmp_path / "m", Progress(), range(1, 2))
    assert (tmp_path / "m").read_text() == (
        '{"step": 1, "loss": 1.0, "learning_rate": 0.001, "gradient_norm": 0.5, "tokens_per_second": 1000, '
        '"seconds": 0.5}\n'
        '{"step": 1, "validation_loss": 2.0, "best": true, "seconds": 0.5}\n'
    )


def test_a_run_that_goes_on_drops_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    write(tmp_path / "m", Progress(), range(1, 6))
    with (tmp_path / "m").open("a") as file:
        file.write('{"step": 6, "lo')  # a kill in the middle of a line
    write(tmp_path / "m", Progress(step=3, validation_loss=1.0), range(4, 5))
    assert [row["step"] for row in read_metrics(tmp_path / "m")] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_run_without_a_checkpoint_begins_with_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "m").write_text(json.dumps({"step": 0, "validation_loss": 4.0}) + "\n")
    write(tmp_path / "m", Progress(), range(0))
    assert read_metrics(tmp_path / "m") == []
    assert read_metrics(tmp_path / "none") == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    board = TensorBoard(tmp_path)
    board.begun(Progress(), 10)
    board.stepped(Stepped(1, 4.0, 1e-3, 0.5, 1000.0, 0.1))
    board.evaluated(Evaluated(1, 3.5, 4.0, True, 0.1))
    board.ended()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path)).Reload()
    assert {tag: events.Scalars(tag)[0].value for tag in ("loss/training", "loss/validation")} == {
        "loss/training": 4.0,
        "loss/validation": 3.5,
    }


def test_a_missing_tensorboard_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingError) as mistake:
        TensorBoard(tmp_path)
    assert str(mistake.value) == (
        "wanted TensorBoard, which is not installed; pip install 'edgewise[tensorboard]', or leave --tensorboard out: "
        "metrics.jsonl has the same numbers"
    )
