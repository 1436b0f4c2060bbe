"""What a trace does around the calls: what it keeps, what it leaves alone, and what it says."""

import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise.errors import ArgumentError, TraceError
from edgewise.graphs import causal
from edgewise.records import open_record
from edgewise.tracing import record, trace

SDPA, HEADS = functional.scaled_dot_product_attention, functional.multi_head_attention_forward


class Block(nn.Module):
    """Self-attention of two heads, causal, and what a test wants done to its output."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.project, self.mix, self.dropout = nn.Linear(8, 24), nn.Linear(8, 8), dropout

    def attention(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.project(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        return x + self.mix(self.attention(query, key, value).transpose(1, 2).flatten(2))


def model(layers: int = 3) -> nn.Sequential:
    return nn.Sequential(*(Block() for _ in range(layers)))


def x(rows: int = 6) -> Tensor:
    return torch.randn(2, rows, 8)


def untouched() -> bool:
    here = functional.scaled_dot_product_attention, functional.multi_head_attention_forward
    return here == (SDPA, HEADS) and not hasattr(torch._native_multi_head_attention, "__wrapped__")


def test_each_call_is_kept_with_its_site_and_its_number() -> None:
    layers = model(2)
    with trace(layers) as run:
        layers(layers(x()))
    assert [(call.site.name, call.site.layer, call.index) for call in run.calls] == [
        ("0", 0, 0),
        ("1", 1, 0),
        ("0", 0, 1),
        ("1", 1, 1),
    ]
    assert run.record().call("1", 1).graph == causal()


def test_everything_is_put_back_afterwards() -> None:
    with trace(model()):
        assert not untouched()
    assert untouched()


def test_everything_is_put_back_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), trace(model()):
        _ = 1 / 0
    assert untouched()


def test_a_model_that_fails_in_the_middle_can_be_traced_again() -> None:
    layers = model()
    with pytest.raises(RuntimeError), trace(layers):
        layers(torch.randn(2, 6, 7))
    with trace(layers) as run:
        layers(x())
    assert len(run.calls) == 3


def test_nothing_is_attached_to_the_model() -> None:
    layers = model()
    before = {name: dict(vars(module)) for name, module in layers.named_modules()}
    with trace(layers):
        layers(x())
        assert {name: dict(vars(module)) for name, module in layers.named_modules()} == before


def test_another_model_is_not_looked_at() -> None:
    watched, other = model(1), model(1)
    with trace(watched) as run:
        other(x())
        functional.scaled_dot_product_attention(x(), x(), x())
    assert run.calls == []


def test_a_part_of_a_model_can_be_traced_while_the_whole_runs() -> None:
    whole = nn.Sequential(model(2), model(1))
    with trace(whole[0]) as run:
        whole(x())
    assert [call.site.name for call in run.calls] == ["0", "1"]


def test_traces_within_each_other_see_the_same_calls_under_their_own_names() -> None:
    whole = nn.Sequential(model(1), model(1))
    with trace(whole) as outer, trace(whole[1]) as inner:
        whole(x())
    assert [call.site.name for call in outer.calls] == ["0.0", "1.0"]
    assert [call.site.name for call in inner.calls] == ["0"]
    torch.testing.assert_close(outer.calls[1].out, inner.calls[0].out, rtol=0, atol=0)


def test_traces_that_end_in_another_order_than_they_began_leave_nothing() -> None:
    layers = model(1)
    first, second = trace(layers), trace(layers)
    one = first.__enter__()
    two = second.__enter__()
    first.__exit__(None, None, None)
    layers(x())
    second.__exit__(None, None, None)
    assert (len(one.calls), len(two.calls)) == (0, 1)
    assert untouched()


def test_a_model_that_runs_in_other_threads_is_seen_there() -> None:
    models = [model(2) for _ in range(4)]
    runs: dict[int, Any] = {}

    def work(number: int) -> None:
        with trace(models[number], check="all") as run:
            for _ in range(5):
                models[number](x())
        runs[number] = run

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(runs[number].calls) for number in range(4)] == [10, 10, 10, 10]
    assert untouched()


def test_one_trace_sees_its_model_run_in_several_threads() -> None:
    layers = model(1)
    with trace(layers) as run:
        threads = [threading.Thread(target=layers, args=(x(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(call.index for call in run.calls) == [0, 1, 2, 3]


def test_a_function_is_traced_as_whatever_runs_meanwhile() -> None:
    def attention(tensor: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(tensor, tensor, tensor)

    found = record(attention, x())
    assert found.proof.exact
    assert found.calls[0].site.name == "attention"


@pytest.mark.parametrize(
    ("sites", "names"),
    [
        ("1", ["1"]),
        (2, ["2"]),
        ([0, "2"], ["0", "2"]),
        ("*", ["0", "1", "2"]),
        ("[01]", ["0", "1"]),
        ("self", ["0", "1", "2"]),
        ("cross", []),
    ],
)
def test_sites_are_chosen_by_name_pattern_layer_or_kind(sites: Any, names: list[str]) -> None:
    layers = model()
    with trace(layers, sites=sites) as run:
        layers(x())
    assert [call.site.name for call in run.calls] == names


def test_heads_and_rows_are_kept_as_they_were_in_the_whole() -> None:
    layers, given = model(1), x()
    whole = record(layers, given).calls[0]
    part = record(layers, given, heads=[-1], rows=slice(1, 3)).calls[0]
    assert part.heads == (1,)
    assert part.kept.rows == (1, 2)
    assert part.rows == 6
    np.testing.assert_array_equal(part.query.bits, whole.query.bits[:, 1:, 1:3])
    np.testing.assert_array_equal(part.key.bits, whole.key.bits[:, 1:])
    np.testing.assert_array_equal(part.out.bits, whole.out.bits[:, 1:, 1:3])


def test_rows_that_a_call_does_not_have_are_not_kept() -> None:
    layers = model(1)
    with trace(layers, rows=[4, 9]) as run:
        layers(x(6))
        layers(x(2))
    assert [call.kept.rows for call in run.calls] == [(4,)]


def test_numbers_can_be_kept_in_another_dtype() -> None:
    call = record(model(1), x(), dtype=torch.bfloat16).calls[0]
    assert (call.query.dtype, call.dtype) == ("bfloat16", "float32")
    assert call.residual < 1e-6  # of the model's own numbers


def test_calls_can_go_to_a_file_as_they_happen(tmp_path: Path) -> None:
    layers, given, path = model(2), x(), tmp_path / "run.edgewise"
    held = record(layers, given)
    with trace(layers, out=path) as run:
        layers(given)
        assert run.calls == []
        assert not path.exists()
    filed = open_record(path)
    assert [call.site for call in filed.calls] == [call.site for call in held.calls]
    for one, other in zip(filed.calls, held.calls, strict=True):
        np.testing.assert_array_equal(one.query.bits, other.query.bits)
    assert run.record().made["torch"] == torch.__version__
    proven = record(layers, given, out=path, tokens=(("a",) * 6,) * 2, target="three blocks")
    assert proven.proof.exact
    assert (proven.target, proven.tokens) == ("three blocks", (("a",) * 6,) * 2)


def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), trace(layers := model(1), out=tmp_path / "run.edgewise"):
        layers(layers(x())[..., :7])
    assert list(tmp_path.iterdir()) == []


def test_outputs_and_gradients_are_proven_unchanged() -> None:
    found = record(model(), x(), gradients=True)
    assert found.proof.exact
    assert found.proof.gradient_numbers == sum(one.numel() for one in model().parameters())
    assert str(found.proof) == "96 output numbers and 864 of gradients equal an untouched run's, bit for bit"


def test_dropout_in_training_draws_the_same_numbers_with_and_without() -> None:
    layers = nn.Sequential(Block(0.5), nn.BatchNorm1d(6), Block(0.5)).train()
    found = record(layers, x(), gradients=True)
    assert found.proof.exact
    assert all(math.isnan(call.residual) for call in found.calls)
    assert found.calls[0].note == "not checked: dropout 0.5 drew numbers of its own"


def test_a_change_is_measured_beside_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    class Restless(Block):
        count = 0

        def forward(self, x: Tensor) -> Tensor:
            self.count += 1
            return super().forward(x) + self.count

    proof = record(Restless(), x()).proof
    assert not proof.exact
    assert proof.difference == pytest.approx(1)
    assert proof.noise == pytest.approx(2)


def test_few_rows_of_a_long_call_are_checked_and_it_says_how_many() -> None:
    layers = model(1)
    with torch.no_grad(), trace(layers) as run:
        layers(x(512))
    assert run.calls[0].checked.note == "checked 4 of 512 rows"
    with torch.no_grad(), trace(layers, check="all") as run:
        layers(x(512))
    assert run.calls[0].checked.note == ""
    with torch.no_grad(), trace(layers, check="none") as run:
        layers(x(512))
    assert run.calls[0].checked.note == "not checked: as asked"


def test_a_call_that_does_not_explain_its_output_is_an_error_that_names_the_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = functional.scaled_dot_product_attention

    def faulty(query: Tensor, key: Tensor, value: Tensor, *more: Any, **settings: Any) -> Tensor:
        return real(query * 1.01, key, value, *more, **settings)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", faulty)
    layers = model(2)
    with torch.no_grad(), trace(layers), pytest.raises(TraceError) as caught:
        layers(x())
    assert str(caught.value).startswith(
        "0: query, key, value and mask as captured must give the model's output up to rounding; got a difference of "
    )
    assert str(caught.value).endswith(
        "(torch: scaled_dot_product_attention): this site does more than was seen; "
        'leave it out with sites=, or look on with check="none"'
    )


def test_a_tensor_that_is_overwritten_after_attention_is_an_error_and_a_copy_is_not() -> None:
    class Careless(Block):
        def attention(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            out = super().attention(query, key, value)
            query.zero_()
            return out

    layers = Careless()
    with torch.no_grad():
        with trace(layers) as run:
            layers(x())
        with pytest.raises(TraceError) as caught:
            run.record()
        assert str(caught.value) == (
            "Careless: query of call 0 was changed in place after attention had used it, so that what is held is no "
            "longer what was seen; trace with copy=True"
        )
        with trace(layers, copy=True) as run:
            layers(x())
        assert run.record().calls[0].query.bits.any()
        assert record(layers, x()).calls[0].query.bits.any()  # finds out by itself


def test_a_row_that_weighs_hidden_keys_against_each_other_is_told_of_and_is_no_residual() -> None:
    one, other = torch.zeros(5, 5), torch.zeros(5, 5)
    one[2, :3] = other[2, 2:] = -1e10

    def attention(x: Tensor) -> Tensor:
        return (x @ x.transpose(-1, -2) / 3 + one + other).softmax(-1) @ x

    call = record(attention, torch.randn(2, 4, 5, 8), check="all").calls[0]
    assert call.residual < 1e-6
    assert call.note == "rows without any key are not explained"


def test_a_compiled_model_is_seen_and_stays_compiled() -> None:
    ran: list[str] = []

    def backend(graph: Any, inputs: Any) -> Any:
        ran.append("compiled")
        return graph.forward

    layers = model(2)
    compiled = torch.compile(layers, backend=backend)
    given = x()
    with torch.no_grad():
        compiled(given)
        before = len(ran)
        found = record(compiled, given)
        compiled(given)
    assert found.proof.exact
    assert [call.site.name for call in found.calls] == ["0", "1"]
    assert len(ran) == before


def test_no_attention_is_an_error_in_words() -> None:
    with pytest.raises(TraceError) as caught:
        record(nn.Linear(8, 8), x())
    assert str(caught.value).startswith("no attention was seen: wanted calls of transformers' attention functions or")
    with pytest.raises(TraceError, match="and see whether sites='nowhere' names any"):
        record(model(), x(), sites="nowhere")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"sites": [1.5]},
            'sites must be names like "model.layers.3.self_attn", patterns like "*.self_attn" or numbers of layers; '
            "got 1.5",
        ),
        ({"dtype": torch.int8}, "dtype must be a floating one, like torch.float16; got torch.int8"),
        ({"heads": [2]}, "heads must be from 0 to 1 at 0; got [2]"),
        ({"heads": []}, "heads must be from 0 to 1 at 0; got []"),
    ],
)
def test_a_wrong_choice_is_answered_in_words(settings: Any, says: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        record(model(1), x(), **settings)
    assert str(caught.value) == says


def test_transformers_is_not_imported_where_no_model_of_it_is_met() -> None:
    code = (
        "import sys, torch\n"
        "from edgewise.tracing import record\n"
        "record(torch.nn.MultiheadAttention(8, 2), (torch.ones(5, 1, 8),) * 3)\n"
        "assert 'transformers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
