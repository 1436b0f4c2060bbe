import pytest
import torch
from torch import nn

from edgewise.errors import ShapeError
from edgewise.ladder import Size, rung

SIZE = Size(vocabulary=11, block=7, width=8)


def test_cross_attention_of_a_sequence_with_itself_is_the_encoder_bit_for_bit() -> None:
    encoder = rung("encoder").build(SIZE, seed=1)
    cross = rung("cross").build(SIZE)
    cross.load_state_dict(encoder.state_dict())
    tokens = torch.randint(11, (2, 7))
    assert torch.equal(cross(tokens, tokens), encoder(tokens))


def test_cross_attention_gives_one_row_for_each_token_that_asks() -> None:
    cross = rung("cross").build(SIZE)
    assert cross(torch.randint(11, (2, 5)), torch.randint(11, (2, 7))).shape == (2, 5, 11)


def test_every_token_that_asks_reads_every_token_of_the_memory() -> None:
    cross = rung("cross").build(SIZE)
    tokens, memory = torch.zeros(1, 5, dtype=torch.long), torch.arange(7)[None]
    before = cross(tokens, memory)
    for at in range(7):
        other = memory.clone()
        other[0, at] = 10
        assert (cross(tokens, other) != before).any(dim=-1).all()


def test_a_memory_longer_than_the_block_is_refused() -> None:
    cross = rung("cross").build(SIZE)
    with pytest.raises(ShapeError, match=r"block=7.*crop to the last 7 tokens"):
        cross(torch.zeros(1, 5, dtype=torch.long), torch.zeros(1, 8, dtype=torch.long))


def test_the_norm_of_the_ladder_is_torch_s_layer_norm() -> None:
    ours, theirs = rung("layernorm").build(SIZE).get_submodule("norm"), nn.LayerNorm(8)
    x = torch.randn(3, 7, 8) * 4 + 2
    torch.testing.assert_close(ours(x), theirs(x))


def test_the_norm_down_the_columns_is_torch_s_batch_norm_while_training() -> None:
    ours, theirs = rung("batchnorm").build(SIZE).get_submodule("norm"), nn.BatchNorm1d(8)
    x = torch.randn(3, 7, 8) * 4 + 2
    torch.testing.assert_close(ours(x), theirs(x.transpose(1, 2)).transpose(1, 2))


def test_batch_norm_sends_the_future_and_the_companions_of_a_sequence_into_its_logits() -> None:
    model = rung("batchnorm").build(SIZE)
    tokens = torch.randint(11, (2, 7))
    before = model(tokens)
    later, companion = tokens.clone(), tokens.clone()
    later[0, -1] = (tokens[0, -1] + 1) % 11
    companion[1, 0] = (tokens[1, 0] + 1) % 11
    assert (model(later)[0, 0] != before[0, 0]).any()
    assert (model(companion)[0] != before[0]).any()


def test_batch_norm_has_nothing_left_of_a_single_token() -> None:
    model = rung("batchnorm").build(SIZE)
    torch.testing.assert_close(model(torch.tensor([[3]])), model(torch.tensor([[5]])), rtol=0, atol=0)
