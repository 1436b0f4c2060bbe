"""An attention whose softmax runs over the queries, and the same along the keys."""

from torch import Tensor

from edgewise.checks.property import Example

__all__ = ["broken", "right"]


def broken() -> Example:
    """A softmax over the axis before the last: columns sum to one."""

    def attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        return scores.softmax(-2) @ v

    return Example(attn)


def right() -> Example:
    """A softmax over the last axis."""

    def attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        return scores.softmax(-1) @ v

    return Example(attn)
