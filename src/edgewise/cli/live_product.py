"""M = W_q W_kᵀ of a head: what a query's channel and a key's channel are worth to each other, before any position."""

from typing import Any

from torch import Tensor, nn

from edgewise.errors import ArgumentError

__all__ = ["product"]

APART = (("q_proj", "k_proj"), ("query", "key"), ("q_lin", "k_lin"), ("wq", "wk"), ("to_q", "to_k"), ("q", "k"))
"""Names of two projections beside each other."""
FUSED = ("qkv", "c_attn", "Wqkv", "qkv_proj")
"""Names of one projection whose first parts are all queries, then all keys."""


def product(model: Any, site: str, head: int, heads: int, groups: int, width: int) -> Tensor:
    """W_q W_kᵀ of one head, (channels, channels): raw = x_query · M · x_key, but for biases, norms and rotations.

    Args:
        model: the module.
        site: the name of its attention.
        head: which query head.
        heads: how many there are.
        groups: how many key-value heads there are.
        width: of a head.

    Raises:
        ArgumentError: the weights are not found under a name that is known, or have other sizes.
    """
    found = dict(model.named_modules()).get(site) if isinstance(model, nn.Module) else None
    weights = None if found is None else _weights(found, heads * width, groups * width)
    if weights is None:
        raise ArgumentError(
            f"the weights of queries and keys are not found at {site}: wanted q_proj and k_proj, query and key, qkv, "
            "c_attn or in_proj_weight"
        )
    group = head // (heads // groups)
    query, key = weights[0][head * width : (head + 1) * width], weights[1][group * width : (group + 1) * width]
    return (query.float().T @ key.float()).detach()


def _weights(module: nn.Module, queries: int, keys: int) -> tuple[Tensor, Tensor] | None:
    """The weights of queries and keys, (heads × width, channels) and (groups × width, channels)."""
    for names in APART:
        pair = [getattr(module, name, None) for name in names]
        if all(isinstance(one, nn.Linear) for one in pair):
            query, key = (one.weight for one in pair)  # pyright: ignore[reportOptionalMemberAccess]
            return _fitting(query, key, queries, keys)
    whole = getattr(module, "in_proj_weight", None)
    for name in FUSED:
        one = getattr(module, name, None)
        weight = getattr(one, "weight", None)
        if isinstance(weight, Tensor) and weight.dim() == 2:
            # The transformers library keeps some weights the other way round, (in, out).
            whole = weight if isinstance(one, nn.Linear) else weight.T
    if isinstance(whole, Tensor) and len(whole) >= queries + keys:
        return _fitting(whole[:queries], whole[queries : queries + keys], queries, keys)
    return None


def _fitting(query: Tensor, key: Tensor, queries: int, keys: int) -> tuple[Tensor, Tensor] | None:
    fits = len(query) == queries and len(key) == keys and query.shape[1] == key.shape[1]
    return (query, key) if fits else None
