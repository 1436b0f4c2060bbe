"""Ways through the code that should give the same and do not."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from edgewise.checks.properties import PROPERTIES
from edgewise.checks.properties.examples.layer import Layer, attended, causal

PROPERTY = next(one for one in PROPERTIES if one.name == "path-mismatch")


def halves(x, start):
    angle = torch.arange(start, start + x.shape[2])[:, None] * 100.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angle = torch.cat([angle, angle], -1)
    first, second = x.chunk(2, -1)
    return x * angle.cos() + torch.cat([-second, first], -1) * angle.sin()


class Cached(Layer):
    def __init__(self, kind="", places="learned", window=None):
        super().__init__()
        self.kind, self.places, self.window, self.table = kind, places, window, nn.Embedding(64, 16)

    def forward(self, x, cache=None):
        past, new, kind = (cache[0].shape[2] if cache else 0), x.shape[1], self.kind
        start = {"restart": 0, "one less": max(past - 1, 0)}.get(kind, past)
        if self.places == "learned":
            x = x + self.table(torch.arange(new) + start)
        query, key, value = self.projected(x)
        if self.places == "rotary":
            query, key = halves(query, 0 if kind == "queries" else start), halves(key, start)
        if cache:
            key, value = self.joined(cache, key, value)
        keys = key.shape[2]
        edges = causal(new, keys)
        if cache and kind == "top left":
            edges = torch.ones(new, keys).tril().bool()
        if cache and kind == "everything":
            edges = torch.ones(new, keys).bool()
        if cache and kind == "not itself":
            edges = edges.tril(keys - new - 1)
        if self.window and not (cache and kind == "no window"):
            edges = edges & ~edges.tril(keys - new - self.window)
        return self.mixed(attended(query, key, value, edges)), (key, value)

    def joined(self, cache, key, value):
        old, read = cache
        if self.kind == "lost":
            old, read = old[:, :, 1:], read[:, :, 1:]
        if self.kind == "overwritten":
            old, read = torch.cat([old[:, :, :-1], key[:, :, :1]], 2), torch.cat([read[:, :, :-1], value[:, :, :1]], 2)
        if self.kind == "values":
            read = read.flip(2)
        if self.kind == "turned again":
            old = halves(old, 0)
        return torch.cat([old, key], 2), torch.cat([read, value], 2)


STEPS = {
    "restart": "L1",
    "one less": "L1",
    "lost": "L2",
    "overwritten": "L2",
    "values": "L2",
    "top left": "L3",
    "everything": "L3",
    "not itself": "L3",
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("places", ["learned", "rotary", "none"])
def test_steps_that_differ_from_all_at_once_are_told_by_cause(observed, kind, places):
    found = observed(Cached(kind, places), only=[PROPERTY.name])
    if places == "none" and STEPS[kind] == "L1":
        assert not found
        return
    assert found
    assert {one.kind for one in found} == {STEPS[kind]}, found
    assert all(one.route.cached for one in found)


@pytest.mark.parametrize("kind", ["queries", "turned again"])
def test_a_rotation_that_forgets_the_cache_is_a_position(observed, kind):
    assert {one.kind for one in observed(Cached(kind, "rotary"), only=[PROPERTY.name])} == {"L1"}


def test_the_restart_is_told_in_words(observed):
    found = observed(Cached("restart"), only=[PROPERTY.name])[0]
    assert found.likely == "position restarts at 0 when a cache is given: the cached length is not added"
    assert found.query == 3


def test_a_window_that_a_step_does_not_know_is_its_mask(observed):
    assert {one.kind for one in observed(Cached("no window", "none", 3), only=[PROPERTY.name])} == {"L3"}


@pytest.mark.parametrize("places", ["learned", "rotary", "none"])
@pytest.mark.parametrize("window", [None, 3])
def test_steps_that_are_right_are_right(observed, places, window):
    assert not observed(Cached("", places, window), only=[PROPERTY.name])


class Padded(Layer):
    """Steps with padding on the left: "" is right; else the place of a step counts pads, or its mask forgets them."""

    def __init__(self, kind=""):
        super().__init__()
        self.kind, self.table, self.norm = kind, nn.Embedding(64, 16), nn.LayerNorm(16)

    def forward(self, x, mask=None, cache=None):
        past, new = (cache[0].shape[2] if cache else 0), x.shape[1]
        keep = torch.ones(len(x), past + new, dtype=torch.bool) if mask is None else mask.bool()
        places = (keep.cumsum(1) - 1).clamp_min(0)[:, past:]
        if cache and self.kind == "places":
            places = (keep[:, past:].cumsum(1) - 1 + past).clamp_min(0)
        query, key, value = self.projected(self.norm(x + self.table(places)))
        if cache:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        edges = causal(new, past + new) & keep[:, None, None]
        edges = edges | ~edges.any(-1, keepdim=True)  # a pad on the left reads all there is
        if cache and new == 1 and self.kind == "mask":
            edges = torch.ones_like(edges)
        return self.mixed(attended(query, key, value, edges)), (key, value)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            "places",
            ("L1", "position: with a cache it is counted otherwise than without: the cached length counts pads"),
        ),
        ("mask", ("L3", "the mask of a step: token 3 reads 0…3, in place of 2, 3")),
    ],
)
def test_steps_after_padding_that_count_or_read_it_are_told_by_cause(observed, kind, told):
    assert not observed(Padded(), only=[PROPERTY.name])
    found = observed(Padded(kind), only=[PROPERTY.name])
    assert {one.kind for one in found} == {told[0]}
    assert all(one.route.mask == "left" and one.likely.startswith(told[1]) for one in found), found


class Ring(Layer):
    def __init__(self, slots, window=3):
        super().__init__()
        self.slots, self.window = slots, window

    def forward(self, x, cache=None):
        query, key, value = self.projected(x)
        if cache:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        edges = causal(x.shape[1], key.shape[2])
        edges = edges & ~edges.tril(key.shape[2] - x.shape[1] - self.window)
        out = self.mixed(attended(query, key, value, edges))
        return out, (key[:, :, -self.slots :], value[:, :, -self.slots :])


def test_a_ring_with_too_few_slots_has_lost_keys(observed):
    assert "L2" in {one.kind for one in observed(Ring(1), only=[PROPERTY.name])}
    for slots in (2, 3):
        assert not observed(Ring(slots), only=[PROPERTY.name])


class Keeping(Layer):
    def __init__(self, flag):
        super().__init__()
        self.kept, self.flag = None, flag

    def forward(self, x, use_cache=False):
        query, key, value = self.projected(x)
        both = key, value
        if (use_cache or not self.flag) and self.kept is not None and self.kept[0].shape == key.shape:
            key, value = torch.cat([self.kept[0], key], 2), torch.cat([self.kept[1], value], 2)
        self.kept = tuple(one.detach() for one in both)
        return self.mixed(attended(query, key, value, causal(x.shape[1], key.shape[2])))


@pytest.mark.parametrize("flag", [True, False])
def test_what_is_left_of_an_earlier_text_is_told(observed, flag):
    found = observed(Keeping(flag), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"L2"}
    assert "earlier text" in found[0].likely


class Dropping(Layer):
    def __init__(self, drop, rate=0.2):
        super().__init__()
        self.drop, self.rate, self.dropout = drop, rate, nn.Dropout(rate)

    def forward(self, x):
        query, key, value = self.projected(x)
        if self.drop in ("fused", "fused always", "fused kept", "fused never"):
            rates = {"fused": self.rate * self.training, "fused always": self.rate}
            rates |= {"fused kept": 0.8 * self.training, "fused never": 0.0}
            return self.mixed(F.scaled_dot_product_attention(query, key, value, dropout_p=rates[self.drop]))
        scores = query @ key.mT / 2
        if self.drop == "before":
            scores = F.dropout(scores, 0.2, self.training)
        return self.mixed(self.weights(scores.softmax(-1)) @ value)

    def weights(self, weights):
        if self.drop == "module":
            return self.dropout(weights)
        if self.drop == "always":
            return F.dropout(weights, 0.2)
        if self.drop == "kept":
            return F.dropout(weights, 0.8, self.training)
        if self.drop == "twice":
            return self.dropout(self.dropout(weights))
        if not self.training or self.drop in ("never", "before"):
            return weights
        left = weights * (torch.rand_like(weights) > 0.2)
        return left / 0.8 if self.drop == "by hand" else left / 0.64 if self.drop == "too much" else left


DROPS = {
    "fused always": "L4",
    "always": "L4",
    "fused kept": "L5",
    "kept": "L5",
    "fused never": "L5",
    "never": "L5",
    "before": "L5",
    "twice": "L5",
    "too much": "L5",
    "not grown": "L5",
}


@pytest.mark.parametrize("drop", DROPS)
def test_dropout_that_is_wrong_is_told(observed, drop):
    found = observed(Dropping(drop), only=[PROPERTY.name])
    assert found
    assert {one.kind for one in found} == {DROPS[drop]}, found


@pytest.mark.parametrize("drop", ["fused", "module", "by hand"])
def test_dropout_in_training_is_right(observed, drop):
    assert not observed(Dropping(drop), only=[PROPERTY.name])


def test_a_function_that_drops_does_so_in_evaluation(observed):
    def attention(q, k, v):
        return F.dropout((q @ k.mT * q.shape[-1] ** -0.5).softmax(-1), 0.1) @ v

    assert {one.kind for one in observed(attention, only=[PROPERTY.name])} == {"L4"}


class Ways(Layer):
    def __init__(self, other):
        super().__init__()
        self.other, self.flash = other, True

    def plain(self, x):
        query, key, value = self.projected(x)
        return self.mixed(F.scaled_dot_product_attention(query, key, value, is_causal=True))

    def second(self, x):
        query, key, value = self.projected(x)
        scores = (query @ key.mT / 2).masked_fill(~causal(x.shape[1]), float("-inf"))
        if self.other == "overflows":
            weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        elif self.other == "cap":
            weights = ((scores / 2).tanh() * 2).masked_fill(~causal(x.shape[1]), float("-inf")).softmax(-1)
        else:
            weights = scores.softmax(-1)
        return self.mixed(weights @ value), weights


class Switched(Ways):
    def forward(self, x, fused=True):
        return self.plain(x) if fused else self.second(x)[0]


class Asked(Ways):
    def forward(self, x, weights=False):
        return self.second(x) if weights else self.plain(x)


class Flagged(Ways):
    def forward(self, x):
        return self.plain(x) if self.flash else self.second(x)[0]


@pytest.mark.parametrize("kind", [Switched, Asked, Flagged])
def test_two_implementations_that_differ_are_told(observed, kind):
    assert {one.kind for one in observed(kind("cap"), only=[PROPERTY.name])} == {"L6"}
    assert not observed(kind("same"), only=[PROPERTY.name])


@pytest.mark.parametrize("kind", [Switched, Asked])
def test_one_that_overflows_is_told_by_large_inputs(observed, kind):
    found = observed(kind("overflows"), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"L6"}
    assert "times as large" in found[0].measured


def test_memory_that_is_read_as_if_it_lay_in_order_is_told(observed):
    class Strided(Layer):
        def forward(self, x):
            x = torch.as_strided(x, x.shape, (x.shape[1] * x.shape[2], x.shape[2], 1))
            return self.mixed(attended(*self.projected(x)))

    found = observed(Strided(), only=[PROPERTY.name])
    assert {one.kind for one in found} == {"L6"}
    assert not any(one.route.contiguous for one in found)


class Recomputed(Layer):
    def __init__(self, wrong):
        super().__init__()
        self.wrong, self.gradient_checkpointing = wrong, False

    def inner(self, x, edges=None):
        return self.mixed(attended(*self.projected(x), edges))

    def forward(self, x):
        edges = causal(x.shape[1])
        if not (self.gradient_checkpointing and self.training):
            return self.inner(x, edges)
        if self.wrong == "gradient":
            return self.inner(x.detach(), edges)
        return checkpoint(self.inner, x, *(() if self.wrong == "mask" else (edges,)), use_reentrant=False)


@pytest.mark.parametrize("wrong", ["mask", "gradient"])
def test_checkpointing_that_changes_something_is_told(observed, wrong):
    assert {one.kind for one in observed(Recomputed(wrong), only=[PROPERTY.name])} == {"L7"}


def test_checkpointing_that_changes_nothing_is_right(observed):
    assert not observed(Recomputed(""), only=[PROPERTY.name])


@pytest.mark.parametrize(("wrong", "kinds"), [("", set()), ("gradient", {"L7"})])
def test_what_learns_nothing_has_no_gradient_that_could_differ(observed, wrong, kinds):
    layer = Recomputed(wrong)
    layer.nothing = nn.Parameter(torch.zeros(0))
    layer.register_forward_pre_hook(lambda module, args: (args[0] + module.nothing.sum(),))
    assert {one.kind for one in observed(layer, only=[PROPERTY.name])} == kinds


def test_torchs_own_layers_are_right(observed):
    for layer in (
        nn.MultiheadAttention(16, 4, dropout=0.2, batch_first=True),
        nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True),
    ):
        assert not observed(layer, only=[PROPERTY.name])


def test_the_example_is_caught_and_its_right_version_is_not(named):
    broken, right = PROPERTY.broken(), PROPERTY.right()
    assert set(named(broken.target, **broken.declared)) == {("path-mismatch", "L1")}
    assert not named(right.target, **right.declared)
