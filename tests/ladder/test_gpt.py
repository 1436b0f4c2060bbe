import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from edgewise.errors import ShapeError
from edgewise.ladder import Size, rung

SIZE = Size(vocabulary=13, block=9, width=12, heads=3, layers=2)


def plain(state: dict[str, Tensor], tokens: Tensor, size: Size) -> Tensor:
    """The GPT again, from its description and not from its code: one head and one row at a time."""

    def normal(x: Tensor, gain: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt() * gain

    length, width = tokens.shape[1], size.width // size.heads
    x = state["token.weight"][tokens] + state["position.weight"][:length]
    for layer in range(size.layers):
        of = {name.removeprefix(f"blocks.{layer}."): tensor for name, tensor in state.items()}
        y = normal(x, of["attention_norm.weight"])
        query, key, value = (y @ part.T for part in of["attention.qkv.weight"].split(size.width))
        finds: list[Tensor] = []
        for head in range(size.heads):
            share = slice(head * width, (head + 1) * width)
            rows: list[Tensor] = []
            for t in range(length):
                scores = (query[:, t, None, share] * key[:, : t + 1, share]).sum(-1) / math.sqrt(width)
                weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
                rows.append((weights[..., None] * value[:, : t + 1, share]).sum(1))
            finds.append(torch.stack(rows, 1))
        x = x + torch.cat(finds, -1) @ of["attention.mix.weight"].T
        y = normal(x, of["feed_norm.weight"]) @ of["feed.up.weight"].T
        x = x + (y * 0.5 * (1 + torch.erf(y / math.sqrt(2)))) @ of["feed.down.weight"].T
    return normal(x, state["norm.weight"]) @ state["token.weight"].T


def loud(seed: int = 0) -> nn.Module:
    """A GPT whose parameters are large enough for every part of it to show."""
    model = rung("gpt").build(SIZE, seed=seed).double()
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter) * 0.3
    return model


def test_the_gpt_is_what_its_description_computes_in_values_and_gradients() -> None:
    model = loud()
    tokens = torch.randint(SIZE.vocabulary, (2, SIZE.block))
    copy = {name: tensor.detach().clone().requires_grad_() for name, tensor in model.named_parameters()}
    logits, expected = model(tokens), plain(copy, tokens, SIZE)
    torch.testing.assert_close(logits, expected)
    F.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten()).backward()
    F.cross_entropy(expected.flatten(0, 1), tokens.roll(-1, 1).flatten()).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, copy[name].grad, msg=lambda text, name=name: f"{name}: {text}")


def test_the_gpt_has_as_many_parameters_as_nanogpt_s() -> None:
    size = Size(vocabulary=65, block=64, width=128, heads=4, layers=4)
    matrices = 4 * (3 + 1 + 4 + 4) * 128 * 128
    norms = (2 * 4 + 1) * 128
    tables = (65 + 64) * 128
    model = rung("gpt").build(size)
    assert sum(parameter.numel() for parameter in model.parameters()) == matrices + norms + tables == 804_096


def test_weights_start_small_and_those_that_add_to_x_smaller() -> None:
    size = Size(vocabulary=256, block=64, width=128, heads=4, layers=8)
    for name, weight in rung("gpt").build(size).named_parameters():
        if "norm" in name:
            torch.testing.assert_close(weight.data, torch.ones(128))
            continue
        expected = 0.02 / math.sqrt(16) if name.endswith(("mix.weight", "down.weight")) else 0.02
        assert weight.std().item() == pytest.approx(expected, rel=0.05), name


def test_a_fresh_gpt_knows_nothing() -> None:
    model = rung("gpt").build(Size(vocabulary=65, block=64, width=128, heads=4, layers=4))
    tokens = torch.randint(65, (8, 64))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), torch.randint(65, (8 * 64,)))
    assert loss.item() == pytest.approx(math.log(65), abs=0.1)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=SIZE.block).filter(lambda parts: sum(parts) <= SIZE.block))
def test_reading_piece_by_piece_with_a_cache_is_reading_at_once(parts: list[int]) -> None:
    model = loud()
    tokens = torch.randint(SIZE.vocabulary, (2, sum(parts)))
    cache = model.new_cache()
    pieces = [model(piece, cache) for piece in tokens.split(parts, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, 1), model(tokens))
    assert [held.length for held in cache] == [sum(parts)] * SIZE.layers


def test_a_cache_that_is_cropped_goes_on_from_there() -> None:
    model = loud()
    tokens = torch.randint(SIZE.vocabulary, (1, 6))
    cache = model.new_cache()
    model(tokens, cache)
    for held in cache:
        held.crop(4)
    torch.testing.assert_close(model(tokens[:, 4:], cache), model(tokens)[:, 4:])


def test_positions_go_on_from_the_cache_and_end_with_the_block() -> None:
    model = rung("gpt").build(SIZE)
    cache = model.new_cache()
    model(torch.zeros(1, 7, dtype=torch.long), cache)
    with pytest.raises(ShapeError, match=r"block=9; got 7 to 9: crop to the last 9 tokens"):
        model(torch.zeros(1, 3, dtype=torch.long), cache)
    assert [held.length for held in cache] == [7, 7], "a refused call must leave the cache as it was"


def test_a_cache_for_another_depth_is_refused() -> None:
    model = rung("gpt").build(SIZE)
    for entries in (0, 1):
        with pytest.raises(ShapeError) as caught:
            model(torch.zeros(1, 1, dtype=torch.long), model.new_cache()[:entries])
        assert str(caught.value) == f"cache must hold 2 entries, one a block; got {entries}: new_cache()?"


def test_dropout_acts_while_training_and_never_after() -> None:
    size = Size(vocabulary=13, block=9, width=12, heads=3, layers=2, dropout=0.5)
    model = rung("gpt").build(size)
    tokens = torch.randint(13, (2, 9))
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    torch.testing.assert_close(model(tokens), rung("gpt").build(SIZE)(tokens), rtol=0, atol=0)


def test_one_table_reads_and_predicts() -> None:
    names = [name for name in rung("gpt").build(SIZE).state_dict() if "block" not in name]
    assert names == ["token.weight", "position.weight", "norm.weight"]
