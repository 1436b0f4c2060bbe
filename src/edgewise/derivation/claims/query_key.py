"""Queries and keys: the one line that turns an average into attention."""

from typing import Any

import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import above, below, near
from edgewise.derivation.worked import KEY, ONE_HOT, QUERY
from edgewise.graphs import causal
from edgewise.ladder import Size, change, rung

__all__ = ["CLAIMS"]

H, U = 0, 2  # rows of the hand-made head: h, o, u


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _worked() -> tuple[Tensor, Tensor, Tensor]:
    """x, W_q and W_k of the hand-made head, the weights as they multiply x from the right."""
    return torch.tensor(ONE_HOT), torch.tensor(QUERY).T, torch.tensor(KEY).T


@claim("qk.one-line", expected={"lines_changed": 1, "mask_softmax_blend_unchanged": True}, kind="exact")
def one_line() -> Measured:
    """From the average to attention one line of the forward pass differs: zeros become query · key."""
    step = change("positions", "scores").forward
    same = [line.text.strip() for line in step.lines if line.sign == " "]
    kept = all(any(part in line for line in same) for part in ("masked_fill", "softmax", "weights @"))
    return {
        "lines_changed": step.count,
        "mask_softmax_blend_unchanged": kept,
        "before": list(step.removed),
        "after": list(step.added),
    }


@claim(
    "qk.dot-measures-alignment",
    expected={"aligned": above(0), "perpendicular": 0.0, "opposed": below(0)},
    kind="property",
)
def dot_measures_alignment() -> Measured:
    """A dot product is large where two vectors point the same way, 0 where they are perpendicular, negative opposed."""
    vector = torch.tensor([3.0, 4.0])
    others = {"aligned": [6.0, 8.0], "perpendicular": [-4.0, 3.0], "opposed": [-3.0, -4.0]}
    return {name: (vector @ torch.tensor(other)).item() for name, other in others.items()}


@claim("qk.no-communication-yet", expected={"others_equal": True, "own_equal": False}, kind="property")
def no_communication_yet() -> Measured:
    """A query and a key come from their own token alone: replace token 5 and only row 5 of both moves."""
    x = _random(8, 32)
    replaced = x.clone()
    replaced[5] = _random(32, seed=1)
    others, own = torch.arange(8) != 5, 5
    before, after = ([x @ weight for weight in _random(2, 32, 16)] for x in (x, replaced))
    return {
        "others_equal": all(torch.equal(a[others], b[others]) for a, b in zip(before, after, strict=True)),
        "own_equal": any(torch.equal(a[own], b[own]) for a, b in zip(before, after, strict=True)),
    }


@claim(
    "qk.compatibility-table", expected={"via_query_key": near(4.0, 1e-6), "via_table": near(4.0, 1e-6)}, kind="close"
)
def compatibility_table() -> Measured:
    """The score query · key is x_t M x_sᵀ with one table M = W_q W_kᵀ: both ways u looking at h scores 4."""
    x, query, key = _worked()
    table = query @ key.T
    return {
        "via_query_key": ((x[U] @ query) @ (x[H] @ key)).item(),
        "via_table": (x[U] @ table @ x[H]).item(),
        "table": table.tolist(),
    }


@claim("qk.asymmetric", expected={"u_looks_at_h": 4.0, "h_looks_at_u": 1.0}, kind="exact")
def asymmetric() -> Measured:
    """Interest can be one-way: u looking at h scores 4, h looking at u scores 1."""
    x, query, key = _worked()
    raw = reference(x @ query, x @ key, x, scale=1.0).raw
    return {"u_looks_at_h": raw[U, H].item(), "h_looks_at_u": raw[H, U].item()}


@claim("qk.shared-is-symmetric", expected={"shared": near(0.0, 1e-5), "apart": above(0.1)}, kind="property")
def shared_is_symmetric() -> Measured:
    """With one matrix for both, M = W Wᵀ equals its transpose, so that no one-way interest can be learned."""
    query, key = _random(2, 32, 16)
    shared, apart = query @ query.T, query @ key.T
    return {"shared": (shared - shared.T).abs().max().item(), "apart": (apart - apart.T).abs().max().item()}


@claim("qk.rank", expected={"rank": 16}, kind="property")
def rank() -> Measured:
    """The 32 × 32 table M that goes through a head of width 16 has rank 16: that is all it can have."""
    query, key = _random(2, 32, 16)
    return {"rank": int(torch.linalg.matrix_rank(query @ key.T))}


@claim(
    "qk.key-bias-does-nothing",
    expected={"key_bias_moves": below(1e-5), "query_bias_moves": above(0.01)},
    kind="property",
)
def key_bias_does_nothing() -> Measured:
    """A bias on keys adds one number to each row of scores and softmax cancels it; a bias on queries stays."""
    query, key = _random(2, 8, 16)
    bias = _random(16, seed=1)
    plain = reference(query, key, key, causal()).weights
    return {
        "key_bias_moves": (reference(query, key + bias, key, causal()).weights - plain).abs().max().item(),
        "query_bias_moves": (reference(query + bias, key, key, causal()).weights - plain).abs().max().item(),
    }


@claim(
    "qk.computed-not-parameter",
    expected={"shape": [2, 8, 8], "in_state_dict": False, "same_for_both": False},
    kind="property",
)
def computed_not_parameter() -> Measured:
    """The weights are computed from the tokens: one table a sequence, another for each, and none in the state_dict."""
    model: Any = rung("scale").build(Size(vocabulary=26))
    x = model.token(torch.tensor([[7, 14, 20, 18, 4, 7, 14, 20], [24, 14, 20, 17, 18, 24, 14, 20]]))
    weights = reference(model.query(x), model.key(x), model.value(x), causal()).weights
    stored = [value for value in model.state_dict().values() if value.shape[-2:] == weights.shape[-2:]]
    return {
        "shape": list(weights.shape),
        "in_state_dict": bool(stored),
        "same_for_both": torch.equal(weights[0], weights[1]),
    }


@claim("qk.three-stages", expected={"stages": ["raw", "masked", "weights"], "each_follows": True}, kind="property")
def three_stages() -> Measured:
    """What lessons call wei in three lines is three things, each with a name in one trace: raw, masked, weights."""
    query, key, value = _random(3, 8, 16)
    stages = reference(query, key, value, causal(), scale=1.0)
    past = torch.ones(8, 8).tril() == 1
    masked = torch.equal(stages.masked, stages.raw.masked_fill(~past, -torch.inf))
    shared = bool((stages.masked.softmax(dim=-1) - stages.weights).abs().max() < 1e-6)
    names = [name for name in stages._fields if name in ("raw", "masked", "weights")]
    return {"stages": names, "each_follows": masked and shared, "of": list(stages._fields)}


@claim("qk.triangle-from-mask", expected={"raw_upper_finite": True, "weights_upper_zero": True}, kind="property")
def triangle_from_mask() -> Measured:
    """Every score is computed, the future's included; the triangle in the weights comes from the mask alone."""
    query, key, value = _random(3, 8, 16)
    stages = reference(query, key, value, causal())
    future = torch.ones(8, 8).triu(1) == 1
    return {
        "raw_upper_finite": bool(stages.raw[future].isfinite().all() and (stages.raw[future] != 0).all()),
        "weights_upper_zero": bool((stages.weights[future] == 0).all()),
    }


@claim("qk.transpose-last-two", expected={"ranks": [2, 3, 4]}, kind="property")
def transpose_last_two() -> Measured:
    """transpose(−2, −1) turns the last two axes whatever stands before them: one line for every rank."""
    return {"ranks": [len(lead) + 2 for lead in ((), (4,), (4, 2)) if _serves(*lead)]}


def _serves(*lead: int) -> bool:
    query, key = _random(2, *lead, 8, 16)
    scores = query @ key.transpose(-2, -1)
    cells = torch.einsum("...qw,...kw->...qk", query, key)
    return scores.shape == (*lead, 8, 8) and bool((scores - cells).abs().max() < 1e-5)


CLAIMS: tuple[Claim, ...] = (
    one_line,
    dot_measures_alignment,
    no_communication_yet,
    compatibility_table,
    asymmetric,
    shared_is_symmetric,
    rank,
    key_bias_does_nothing,
    computed_not_parameter,
    three_stages,
    triangle_from_mask,
    transpose_last_two,
)
