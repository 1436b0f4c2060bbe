import pytest
import torch
from tests.checks.layers import CHANNELS, HEADS, lab_of
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close


class Heads(nn.Module):
    """Self-attention whose heads are split and merged with or without the transpose."""

    def __init__(self, split: bool, merge: bool) -> None:
        super().__init__()
        self.split, self.merge = split, merge
        self.query, self.key, self.value, self.out = (nn.Linear(CHANNELS, CHANNELS) for _ in range(4))

    def parted(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        if self.split:
            return x.view(batch, length, HEADS, -1).transpose(1, 2)
        return x.view(batch, HEADS, length, -1)

    def forward(self, x: Tensor) -> Tensor:
        parts = (self.parted(one(x)) for one in (self.query, self.key, self.value))
        out = F.scaled_dot_product_attention(*parts)
        return self.out((out.transpose(1, 2) if self.merge else out).reshape(x.shape))


def test_rows_of_heads_are_of_their_own_token():
    lab = lab_of(Heads(split=True, merge=True))
    one = torch.eye(lab.length, dtype=torch.bool).expand(HEADS, -1, -1)
    found = lab.reads()
    for part in (found.query, found.key, found.value):
        assert_close(part, one)
    assert_close(lab.writes().moved, one)


def test_heads_split_without_a_transpose_read_other_tokens():
    lab = lab_of(Heads(split=False, merge=True))
    found = lab.reads().query
    length = lab.length
    wanted = torch.zeros(HEADS, length, length, dtype=torch.bool)
    for head in range(HEADS):
        for row in range(length):
            wanted[head, row, (head * length + row) // HEADS] = True
    assert_close(found, wanted)


def test_heads_merged_without_a_transpose_write_to_other_tokens():
    lab = lab_of(Heads(split=True, merge=False))
    length = lab.length
    wanted = torch.zeros(HEADS, length, length, dtype=torch.bool)
    for head in range(HEADS):
        for row in range(length):
            wanted[head, row, (head * length + row) // HEADS] = True
    assert_close(lab.writes().moved, wanted)


def test_where_tracing_sees_nothing_nothing_is_said():
    lab = lab_of(nn.Linear(CHANNELS, CHANNELS))
    assert lab.reads() is None
    assert lab.writes() is None


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_models_of_the_library_are_read_from_both_sides(name):
    pytest.importorskip("transformers")
    from edgewise.tracing.tiny import tiny

    lab = lab_of(tiny(name).model)
    length = lab.length
    assert_close(lab.reads().query, torch.eye(length, dtype=torch.bool).expand(4, -1, -1))
    assert_close(lab.writes().moved, torch.eye(length, dtype=torch.bool).expand(4, -1, -1))
