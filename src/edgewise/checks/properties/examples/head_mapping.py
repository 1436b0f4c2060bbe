"""Six query heads on two key heads: the key heads tiled, and each repeated for its neighbours."""

from torch import Tensor

from edgewise.checks.property import Example

__all__ = ["broken", "right"]


def broken() -> Example:
    """Key heads are tiled, 0 1 0 1 0 1: query head 1 reads key head 1."""

    def attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        many = q.shape[1] // k.shape[1]
        k, v = k.repeat(1, many, 1, 1), v.repeat(1, many, 1, 1)
        return (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v

    return Example(attn, {"heads": 6, "groups": 2})


def right() -> Example:
    """Key heads are repeated, 0 0 0 1 1 1: neighbours share one."""

    def attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        many = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(many, 1), v.repeat_interleave(many, 1)
        return (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v

    return Example(attn, {"heads": 6, "groups": 2})
