"""One answer for a whole sequence, where a target takes one length alone."""

import pytest
import torch
from torch import nn

from edgewise.checks.infer import subject_of
from edgewise.errors import ArgumentError


class OfEight(nn.Module):
    """As an encoder of texts that fills them up to so many tokens."""

    def __init__(self, channels=12):
        super().__init__()
        self.embed, self.places = nn.Embedding(20, 16), nn.Parameter(torch.randn(8, 16))
        self.out = nn.Linear(16, channels)

    def forward(self, tokens):
        x = self.embed(tokens) + self.places
        return self.out(x[torch.arange(len(x)), tokens.argmax(-1)])


def test_one_length_alone_is_enough_for_an_answer_of_another_size():
    subject = subject_of(OfEight())
    assert (subject.pooled, subject.length, subject.longest) == (True, 8, 8)


def test_as_many_numbers_as_tokens_may_be_one_for_each():
    with pytest.raises(ArgumentError, match="could not be called"):
        subject_of(OfEight(channels=8))
