"""Right models of a kind that the library has, and that an eye for faults could take for wrong."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import edgewise
from edgewise.checks.meaning.intended import chooses, said
from edgewise.checks.properties.examples.layer import Layer, attended, causal
from edgewise.checks.reading.fills import Fills

PAD = 0


class PositionsOfRealIds(nn.Module):
    """Positions are counted over ids that are not padding, whatever the mask says, as in RoBERTa and M2M100."""

    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(pad_token_id=PAD)
        self.tokens, self.positions = nn.Embedding(99, 16), nn.Embedding(64, 16)
        self.layer, self.head = Layer(), nn.Linear(16, 99)

    def forward(self, input_ids, attention_mask=None):
        real = input_ids.ne(PAD)
        x = self.tokens(input_ids) + self.positions(real.cumsum(1) * real)
        query, key, value = self.layer.projected(x)
        allowed = causal(input_ids.shape[1])[None, None]
        if attention_mask is not None:
            allowed = allowed & attention_mask.bool()[:, None, None]
        hidden = torch.where(allowed, torch.tensor(0.0, dtype=x.dtype), torch.finfo(x.dtype).min)
        return self.head(self.layer.mixed((query @ key.mT / 2 + hidden).softmax(-1) @ value))


class PastAndMemory(Layer):
    """One attention reads the past and the memory, side by side, as in T5Gemma 2."""

    def forward(self, x, memory):
        query, key, value = self.projected(x)
        _, memory_key, memory_value = self.projected(memory)
        allowed = F.pad(causal(x.shape[1]), (0, memory.shape[1]), value=True)
        key, value = torch.cat([key, memory_key], 2), torch.cat([value, memory_value], 2)
        return self.mixed(F.scaled_dot_product_attention(query, key, value, attn_mask=allowed))


class BothWaysAfterAPrompt(Layer):
    """Reads both ways, and what was read before besides, as a block that is written by diffusion."""

    def forward(self, x, cache=None):
        query, key, value = self.projected(x)
        if cache is not None:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        return self.mixed(attended(query, key, value)), (key, value)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (PositionsOfRealIds, {"pad": PAD, "reads": "ids", "vocabulary": 99}),
        (PastAndMemory, {}),
        (BothWaysAfterAPrompt, {"graph": "full()"}),
    ],
)
def test_nothing_is_told_of_it(model, told):
    torch.manual_seed(0)
    properties = ["future-leak", "lost-visibility", "wrong-pattern", "padding-leak", "mask-meaning", "batch-leak"]
    report = edgewise.check(model().double().eval(), only=properties, **told)
    assert report.findings == ()
    assert any(one.status == "pass" for one in report.results)


def test_of_two_numbers_the_lower_one_is_what_hides():
    allowed = causal(4)
    with Fills() as fills:
        made = torch.where(allowed, torch.tensor(0.0), -1e9)
        other = torch.where(~allowed, -1e9, torch.zeros(4, 4))
        made + other
    assert [one.value for one in fills.found] == [-1e9, -1e9]
    for one in fills.found:
        assert (one.cells == ~allowed.numpy()).all()


def test_a_config_says_that_keys_are_picked_by_an_index():
    text = SimpleNamespace(index_topk=2)
    assert chooses(SimpleNamespace(text_config=text), 8)
    assert chooses(SimpleNamespace(indexer_budget=7), 8)
    assert not chooses(SimpleNamespace(indexer_budget=8), 8)
    assert not chooses(SimpleNamespace(index_topk=None, num_experts_per_tok=2), 8)


def test_what_a_config_will_not_say_for_all_layers_is_not_said():
    class ByLayer:
        hidden_size = 64

        @property
        def sliding_window(self):
            raise RuntimeError("differs by layer")

    assert said(ByLayer(), "sliding_window") is None
    assert (said(ByLayer(), "hidden_size"), said(ByLayer(), "window_size")) == (64, None)
