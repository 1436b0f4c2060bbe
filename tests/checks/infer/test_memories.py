"""What a memory is found to be: ids, or floats of a width that the target's own parameters say."""

import pytest
import torch
from tests.checks import callees
from torch import nn

from edgewise.checks.calls.calling import answer
from edgewise.checks.calls.route import Route
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.lab.sampling import sampled


class Cross(nn.Module):
    """Keys are made of twelve channels, and queries of sixteen."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(16, 8), nn.Linear(12, 8)

    def forward(self, hidden_states, encoder_hidden_states):
        return (self.query(hidden_states) @ self.key(encoder_hidden_states).mT).softmax(-1) @ encoder_hidden_states


class Maybe(Cross):
    def forward(self, x, context=None):
        return self.query(x) if context is None else super().forward(x, context)


class Apart(Cross):
    """Query, key and value by name, which may not be the same."""

    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(16, 8), nn.Linear(12, 8), nn.Linear(20, 8)

    def forward(self, query, key, value, key_mask=None):
        scores = self.q_proj(query) @ self.k_proj(key).mT
        if key_mask is not None:
            scores = scores.masked_fill(~key_mask[:, None], float("-inf"))
        return scores.softmax(-1) @ self.v_proj(value)


class Translates(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)

    def forward(self, src, tgt):
        memory, x = self.embed(src), self.embed(tgt)
        return (x @ memory.mT).softmax(-1) @ memory


@pytest.mark.parametrize("target", [Cross, Maybe])
def test_a_memory_has_the_width_that_fits(target):
    subject = subject_of(target())
    assert (subject.width, subject.memory_width, subject.memory_reads) == (16, 12, "floats")


def test_a_memory_of_ids_is_tried_where_ids_are_read():
    subject = subject_of(Translates())
    assert (subject.main, subject.memory.name, subject.memory_reads) == (("tgt",), "src", "ids")


@pytest.mark.parametrize(
    ("target", "mask"),
    [
        (nn.MultiheadAttention(16, 4, kdim=12, vdim=20, batch_first=True), "key_padding_mask"),
        (Apart(), "key_mask"),
    ],
)
def test_keys_and_values_of_other_widths_are_a_memory(target, mask):
    subject = subject_of(target)
    assert (subject.main, subject.memory_widths, subject.memory_mask.name) == (("query",), (12, 20), mask)
    assert "key=value=floats (batch, keys, 12/20), the memory" in str(subject)
    assert "key=memory[..., :12], value=memory[..., :20]" in subject.code()
    assert answer(subject, sampled(subject, 2, 6), Route()).out.shape[:2] == (2, 6)


def test_keys_of_the_same_width_are_what_is_read():
    subject = subject_of(nn.MultiheadAttention(16, 4, kdim=16, vdim=16, batch_first=True))
    assert (subject.main, subject.memory) == (("query", "key", "value"), None)


def test_a_width_that_is_told_is_the_only_one_tried():
    assert subject_of(Cross(), memory_width=12).memory_width == 12
    layer = callees.Plain()
    assert subject_of(layer, memory_width=12).memory is None
    assert torch.is_tensor(answer(subject_of(layer), sampled(subject_of(layer), 2), Route()).out)


def test_tokens_that_read_a_memory_alone_are_meant_to_read_no_other():
    lab = Lab(subject_of(Cross().double()))
    assert str(lab.expected()) == "window(1) (inferred: all that its tokens read is the memory)"
