"""Counts the calls of softmax attention in a run from below, knowing nothing of how edgewise sees them.

Every operation that torch carries out is looked at. A product of two tensors of which neither is a parameter gives
scores; whatever is made of scores without another product stays scores; a softmax of scores gives weights; and weights
that meet another tensor in a product are a call of attention. A fused function of attention is one at once.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Census"]

# Which arguments of each product are multiplied.
PRODUCTS = {
    "bmm": (0, 1),
    "mm": (0, 1),
    "mv": (0, 1),
    "dot": (0, 1),
    "addmm": (1, 2),
    "baddbmm": (1, 2),
    "addmv": (1, 2),
}
LAYERS = ("convolution", "_convolution", "native_layer_norm", "embedding", "_embedding_bag")
FUSED = ("_scaled_dot_product_", "_native_multi_head_attention", "_transformer_encoder_layer_fwd", "_flash_attention")


class Census(TorchDispatchMode):
    """While it lasts, calls of attention are counted.

    Args:
        model: whose parameters are to be told from what it computes.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.fused = 0
        self.written: set[int] = set()
        self._given = {one.untyped_storage().data_ptr() for one in (*model.parameters(), *model.buffers())}
        self._scores: dict[int, Tensor] = {}  # by identity; held, so that no identity is used twice
        self._weights: dict[int, tuple[Tensor, frozenset[int]]] = {}
        self._softmaxes = 0

    @property
    def calls(self) -> int:
        """How many calls of attention there were."""
        return self.fused + len(self.written)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name.startswith(FUSED):
            self.fused += 1
        elif name in PRODUCTS:
            self._product(*(args[at] for at in PRODUCTS[name]), out)
        elif name in ("_softmax", "_safe_softmax", "exp"):  # one that is written out takes the power of e itself
            if id(args[0]) in self._scores:
                self._softmaxes += 1
                self._weights[id(out)] = (out, frozenset({self._softmaxes}))
        elif name not in LAYERS or any(map(self._of, tensors(args))):
            self._passed_on([*tensors(args), *tensors(kwargs or {})], list(tensors(out)))
        return out

    def _product(self, one: Tensor, other: Tensor, out: Tensor) -> None:
        weights = self._of(one) | self._of(other)
        parameter = any(tensor.untyped_storage().data_ptr() in self._given for tensor in (one, other))
        if weights and parameter:
            self._weights[id(out)] = (out, weights)  # heads that are mixed
        elif weights:
            self.written |= weights
        elif not parameter or id(one) in self._scores or id(other) in self._scores:
            self._scores[id(out)] = out

    def _of(self, tensor: Tensor) -> frozenset[int]:
        return self._weights[id(tensor)][1] if id(tensor) in self._weights else frozenset()

    def _passed_on(self, given: list[Tensor], made: list[Tensor]) -> None:
        weights = frozenset[int]().union(*map(self._of, given))
        for out in made:
            if weights:
                self._weights[id(out)] = (out, weights)
            elif any(id(one) in self._scores for one in given):
                self._scores[id(out)] = out


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in arguments or in a result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors(one)
