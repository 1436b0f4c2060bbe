"""Rungs that change how something is computed and not what: equal in values and gradients."""

import pytest
import torch
from torch import Tensor, nn

from edgewise.ladder import Size, rung

SIZE = Size(vocabulary=11, block=6, width=8)


def values_and_gradients(name: str, state: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    model = rung(name).build(SIZE).double()
    model.load_state_dict(state)
    given = torch.randint(SIZE.vocabulary, (3, SIZE.block), generator=torch.Generator().manual_seed(0))
    logits = model(given)
    nn.functional.cross_entropy(logits.flatten(0, 1), given.roll(-1, 1).flatten()).backward()
    return logits.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}  # type: ignore[misc]


@pytest.mark.parametrize(("one", "other"), [("loop", "matmul"), ("matmul", "softmax"), ("scale", "attend")])
def test_two_ways_to_compute_one_thing_agree(one: str, other: str) -> None:
    state = rung(one).build(SIZE, seed=3).double().state_dict()
    torch.testing.assert_close(values_and_gradients(one, state), values_and_gradients(other, state))


def test_one_head_is_the_single_attention_seen_through_a_projection() -> None:
    single = rung("attend").build(SIZE, seed=3).double()
    several = rung("heads").build(SIZE).double()
    state = {name.replace("query", "attention.query"): tensor for name, tensor in single.state_dict().items()}
    state = {name.replace("key", "attention.key").replace("value", "attention.value"): t for name, t in state.items()}
    several.load_state_dict({**state, "attention.mix.weight": torch.eye(SIZE.width, dtype=torch.float64)})
    given = torch.arange(SIZE.block)[None]
    torch.testing.assert_close(several(given), single(given))


def test_each_head_reads_its_own_share_of_the_width() -> None:
    size = Size(vocabulary=11, block=6, width=8, heads=4)
    attention = rung("heads").build(size).get_submodule("attention")
    x = torch.randn(1, 6, 8)
    attention.mix.weight.data = torch.eye(8)
    before = attention(x)
    attention.query.weight.data[2:4] += 1.0
    changed = (attention(x) != before).any(dim=(0, 1))
    assert changed.tolist() == [False, False, True, True, False, False, False, False]


def test_one_block_is_the_layernorm_rung() -> None:
    whole = rung("layernorm").build(SIZE, seed=3)
    block = rung("blocks").build(SIZE)
    parts = ("attention", "feed")
    state = whole.state_dict().items()
    block.load_state_dict({f"blocks.0.{name}" if name.startswith(parts) else name: tensor for name, tensor in state})
    given = torch.arange(SIZE.block)[None]
    torch.testing.assert_close(block(given), whole(given), rtol=0, atol=0)
