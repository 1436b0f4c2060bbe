"""Four heads of width 8, scaled by the width of all of them, and by that of one."""

from torch import Tensor

from edgewise.checks.property import Example

__all__ = ["broken", "right"]


def broken() -> Example:
    """The scale is made of the model's width: heads × width."""

    def attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        model = q.shape[1] * q.shape[-1]
        return (q @ k.transpose(-2, -1) * model**-0.5).softmax(-1) @ v

    return Example(attn)


def right() -> Example:
    """The scale is made of the head's width."""

    def attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v

    return Example(attn)
