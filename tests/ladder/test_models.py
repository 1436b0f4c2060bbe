"""What holds for every rung, and where a sibling breaks it on purpose."""

import ast

import pytest
import torch
from torch import Tensor, nn

from edgewise.errors import ShapeError
from edgewise.ladder import RUNGS, Rung, Size

SIZE = Size(vocabulary=11, block=6, width=8, heads=2, layers=2)
each_rung = pytest.mark.parametrize("step", RUNGS, ids=lambda step: step.name)


def tokens(batch: int = 3, length: int = SIZE.block) -> Tensor:
    generator = torch.Generator().manual_seed(length)
    return torch.randint(SIZE.vocabulary, (batch, length), generator=generator)


def run(step: Rung, given: Tensor, model: nn.Module | None = None) -> Tensor:
    model = model or step.build(SIZE)
    return model(given, given) if step.name == "cross" else model(given)


def moved(before: Tensor, after: Tensor) -> list[bool]:
    """Which positions of sequence 0 changed by even one bit."""
    return (before[0] != after[0]).any(dim=-1).tolist()


@each_rung
def test_a_rung_stands_alone_and_imports_no_other(step: Rung) -> None:
    allowed = {"collections.abc", "torch", "torch.nn.functional", "jaxtyping", "edgewise.errors"}
    allowed |= {"edgewise.attention", "edgewise.graphs", "edgewise.ladder.size"}
    for node in ast.walk(ast.parse(step.source())):
        if isinstance(node, ast.Import):
            assert {name.name for name in node.names} <= allowed
        if isinstance(node, ast.ImportFrom):
            assert node.module in allowed


@each_rung
@pytest.mark.parametrize("length", [1, 3, SIZE.block])
def test_each_position_gets_a_score_for_each_token(step: Rung, length: int) -> None:
    assert run(step, tokens(2, length)).shape == (2, length, SIZE.vocabulary)


@each_rung
def test_a_sequence_longer_than_the_block_is_refused_where_positions_are_learned(step: Rung) -> None:
    too_long = tokens(2, SIZE.block + 3)
    if step.bounded:
        with pytest.raises(ShapeError, match=r"block=6.*0 to 8.*crop to the last 6 tokens"):
            run(step, too_long)
        assert run(step, too_long[:, -SIZE.block :]).shape[1] == SIZE.block
    else:
        assert run(step, too_long).shape[1] == SIZE.block + 3
        assert "any length" in str(ast.get_docstring(ast.parse(step.source())))


@each_rung
def test_a_position_reads_what_its_rung_says(step: Rung) -> None:
    """Change one token in the middle: earlier positions must not move, later ones do as soon as there is an average."""
    given, at = tokens(), 3
    other = given.clone()
    other[0, at] = (given[0, at] + 1) % SIZE.vocabulary
    model = step.build(SIZE)
    sees_ahead = step.name in {"encoder", "cross", "batchnorm"}
    sees_back = step.name not in {"bigram", "split"}
    expected = [sees_ahead] * at + [True] + [sees_back] * (SIZE.block - at - 1)
    assert moved(run(step, given, model), run(step, other, model)) == expected


@each_rung
def test_sequences_of_a_batch_do_not_mix_except_by_batch_statistics(step: Rung) -> None:
    given = tokens()
    other = given.clone()
    other[1] = (given[1] + 1) % SIZE.vocabulary
    model = step.build(SIZE)
    assert any(moved(run(step, given, model), run(step, other, model))) == (step.name == "batchnorm")


@each_rung
def test_a_gradient_reaches_every_parameter(step: Rung) -> None:
    model = step.build(SIZE)
    nn.functional.cross_entropy(run(step, tokens(), model).flatten(0, 1), tokens().roll(-1, 1).flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@each_rung
def test_evaluating_is_training_as_long_as_nothing_is_dropped(step: Rung) -> None:
    model = step.build(SIZE)
    training = run(step, tokens(), model)
    torch.testing.assert_close(run(step, tokens(), model.eval()), training, rtol=0, atol=0)


@each_rung
def test_a_rung_runs_in_the_dtype_of_its_parameters(step: Rung) -> None:
    assert run(step, tokens(), step.build(SIZE).bfloat16()).dtype == torch.bfloat16
