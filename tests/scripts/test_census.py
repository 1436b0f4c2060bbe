"""Attention is counted from below, without a word from how it is captured."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a script as a module."""
    monkeypatch.syspath_prepend(SCRIPTS)
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, made)
    spec.loader.exec_module(made)
    return made


class Heads(nn.Module):
    """Attention in the way that is asked for, twice."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.project = nn.Linear(16, 48)
        self.experts = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            x = x + self.attend(*self.project(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)).transpose(
                1, 2
            ).flatten(2)
        return x * self.experts(x).softmax(-1).amax(-1, keepdim=True)  # a softmax, and no attention

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if self.way == "fused":
            return F.scaled_dot_product_attention(query, key, value)
        if self.way == "none":
            return query * (key * value).mean(-2, keepdim=True)
        if self.way == "linear":
            return F.elu(query) @ (F.elu(key).transpose(-2, -1) @ value)
        scores = query @ key.transpose(-2, -1) / 8**0.5
        if self.way == "einsum":
            scores = torch.einsum("bhqw,bhkw->bhqk", query, key)
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf"))
        if self.way == "by hand":
            powers = (scores - scores.amax(-1, keepdim=True)).exp()
            return (powers / powers.sum(-1, keepdim=True)) @ value
        return F.dropout(scores.softmax(-1), 0.1, self.training) @ value


@pytest.mark.parametrize(
    ("way", "calls"), [("fused", 2), ("softmax", 2), ("einsum", 2), ("by hand", 2), ("linear", 0), ("none", 0)]
)
def test_each_call_of_softmax_attention_is_counted_once(way: str, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Heads(way).eval()
    with torch.no_grad(), script("census", monkeypatch).Census(model) as census:
        model(torch.randn(1, 5, 16))
    assert census.calls == calls


def test_layers_of_torch_are_counted_on_their_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, batch_first=True), 3).eval()
    with torch.no_grad(), script("census", monkeypatch).Census(model) as census:
        model(torch.randn(2, 5, 16))
    assert census.calls == 3
