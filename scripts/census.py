"""Counts the calls of softmax attention in a run from below, knowing nothing of how edgewise sees them.

Every operation that torch carries out is looked at. A product of two tensors of which neither is a parameter gives
scores; whatever is made of scores without another product stays scores; a softmax of scores gives weights; and weights
that meet another tensor in a product are a call of attention. A fused function of attention is one at once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

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
HEADS = 32
"""A parameter that mixes the scores of heads is no larger than this many by as many."""
LAYERS = ("convolution", "_convolution", "native_layer_norm", "embedding", "_embedding_bag")
FUSED = ("_scaled_dot_product_", "_native_multi_head_attention", "_transformer_encoder_layer_fwd", "_flash_attention")

KINDS = ("weights", "powers", "total", "scores", "mixed")
"""What is known of a tensor; of several that are combined the first of these."""


class _Seen(NamedTuple):
    tensor: Tensor
    kind: str
    softmaxes: frozenset[int]


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
        self._seen: dict[int, _Seen] = {}  # by identity; tensors are held, so that no identity is used twice
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
        elif name in ("_softmax", "_safe_softmax"):
            if self._kind(args[0]) in ("scores", "mixed"):
                self._softmax(out, "weights")
        elif name == "exp":  # of a softmax that is written out; one that is over its sum is whole
            if self._kind(args[0]) == "scores":
                self._softmax(out, "powers")
        elif name == "sum" and self._kind(args[0]) == "powers":
            self._note(out, "total")
        elif name not in LAYERS or any(self._kind(one) == "weights" for one in tensors(args)):
            self._passed_on([*tensors(args), *tensors(kwargs or {})], list(tensors(out)))
        return out

    def _kind(self, tensor: Any) -> str:
        return self._seen[id(tensor)].kind if id(tensor) in self._seen else ""

    def _note(self, tensor: Tensor, kind: str, softmaxes: frozenset[int] = frozenset()) -> None:
        self._seen[id(tensor)] = _Seen(tensor, kind, softmaxes)

    def _softmax(self, out: Tensor, kind: str) -> None:
        self._softmaxes += 1
        self._note(out, kind, frozenset({self._softmaxes}))

    def _product(self, one: Tensor, other: Tensor, out: Tensor) -> None:
        kinds = {self._kind(one), self._kind(other)}
        parameter = any(tensor.untyped_storage().data_ptr() in self._given for tensor in (one, other))
        small = min(one.numel(), other.numel()) <= HEADS**2 and out.numel() == max(one.numel(), other.numel())
        if "weights" in kinds and parameter:
            self._note(out, "weights", self._of([one, other]))  # heads that are mixed
        elif "weights" in kinds:
            self.written |= self._of([one, other])
        elif not parameter:
            self._note(out, "scores")
        elif small and kinds & {"scores", "mixed"}:
            self._note(out, "mixed")

    def _of(self, given: list[Tensor]) -> frozenset[int]:
        return frozenset[int]().union(*(self._seen[id(one)].softmaxes for one in given if id(one) in self._seen))

    def _passed_on(self, given: list[Tensor], made: list[Tensor]) -> None:
        kinds = {self._kind(one) for one in given}
        whole = {"powers", "total"} <= kinds
        kind = "weights" if whole else next((one for one in KINDS if one in kinds), "")
        for out in made if kind else ():
            if out.is_floating_point():  # where something is, is not how much
                self._note(out, kind, self._of(given))


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
