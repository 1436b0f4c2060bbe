"""Every operation of a thread as it runs, and what is known of the storages that it touches.

The mode sits below autograd and autocast and above the kernels. It runs each operation as it is, sees what the Python
spelling comes down to (an einsum is a product of matrices by then), and is blind to what is compiled.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from edgewise.tracing.routes.written.layout import Axes, axes_of, laid
from edgewise.tracing.routes.written.trail import Meeting, Noise, Origin, Seen, Total, Trail

__all__ = ["Done", "Flow", "Rule"]

_FEW = 64


class Done(NamedTuple):
    """An operation that has run."""

    name: str
    """Without the underscore of those that write in place."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any


Rule = Callable[["Flow", Done], Meeting | None]


class Known(NamedTuple):
    """What to do about an operation."""

    name: str
    rule: Rule | None
    """What it does to what is known; None for nothing."""
    apart: Callable[["Flow", tuple[Any, ...]], bool] | None
    """Whether to take it apart first, as it is made of others; None where it is not."""
    instead: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
    """What runs it, where it is attention by itself."""


class Flow(TorchDispatchMode):
    """What is known of storages, for as long as they live.

    Args:
        know: what to do about an operation.
        offer: what is to be made of the product of weights and values, where no function above it waits for it.
    """

    supports_higher_order_operators = True  # they run as they are
    stands_aside = True  # while a call that is known runs, and whoever listens to it

    def __init__(self, know: Callable[[Any], Known], offer: Callable[[Meeting], Tensor]) -> None:
        super().__init__()
        self.waiting: list[list[Meeting]] = []
        """The functions above that will take a meeting of weights and values, the innermost last."""
        self._offer, self._know = offer, know
        self._known: dict[Any, Known] = {}
        self._seen: dict[int, tuple[StorageWeakRef, Seen]] = {}
        self._learned: set[int] = set()
        self._many = _FEW

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation as it is, and note what it has done."""
        known = self._known.get(func)
        if known is None:
            known = self._known[func] = self._know(func)
        if known.instead is not None:
            return known.instead(func, args, kwargs or {})
        if known.apart is not None and known.apart(self, args):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        out = func(*args, **(kwargs or {}))
        if known.rule is None:
            return out
        try:
            meeting = known.rule(self, Done(known.name, args, kwargs or {}, out))
        except Exception as error:
            self._confused(known.name, error)
            return out
        return out if meeting is None else self._meet(meeting)

    def _meet(self, meeting: Meeting) -> Tensor:
        if not self.waiting:
            return self._offer(meeting)
        self.waiting[-1].append(meeting)
        return meeting.out

    def _confused(self, name: str, error: Exception) -> None:
        """Say that we have made a mistake, and let the model go on: looking must not stop it."""
        self._seen.clear()
        warnings.warn(
            f"edgewise could not follow {name} ({type(error).__name__}: {error}): attention that was written by hand "
            "there may be missing from the trace. This is a mistake of edgewise; please report it",
            RuntimeWarning,
            stacklevel=3,
        )

    @property
    def empty(self) -> bool:
        """Whether nothing is known of any tensor."""
        return not self._seen

    def seen(self, tensor: Any) -> Seen | None:
        """What is known of the storage of a tensor."""
        key = _key(tensor) if isinstance(tensor, Tensor) else None
        found = None if key is None else self._seen.get(key)
        return None if found is None else found[1]

    def trail(self, tensor: Any) -> Trail | None:
        """The trail that a tensor is on."""
        found = self.seen(tensor)
        return found.what if found is not None and isinstance(found.what, Trail) else None

    def origin(self, tensor: Tensor) -> Origin:
        """What is known of a tensor that is no score."""
        found = self.seen(tensor)
        if found is not None and isinstance(found.what, Origin):
            return found.what
        return Origin(learned=self._is_learned(tensor))

    def learn(self, model: object) -> None:
        """Know the parameters of a model as what they are, whatever views are taken of them."""
        if isinstance(model, nn.Module):
            self._learned |= {key for one in model.parameters() if (key := _key(one)) is not None}

    def _is_learned(self, tensor: Tensor) -> bool:
        if isinstance(tensor, nn.Parameter) or _key(tensor) in self._learned:
            return True
        return not tensor.is_inference() and isinstance(tensor._base, nn.Parameter)

    def axes(self, tensor: Tensor) -> Axes | None:
        """The axes of a tensor that is on a trail."""
        found = self.seen(tensor)
        return None if found is None or found.layout is None else axes_of(tensor, found.layout)

    def whole(self, tensor: Tensor) -> bool:
        """Whether a tensor shows all that is known of its storage."""
        found = self.seen(tensor)
        if found is None or found.layout is None:
            return False
        return tensor.numel() == math.prod(many for _, many, _ in found.layout.runs)

    def note(self, tensor: Tensor, what: Trail | Origin | Noise | Total, axes: Axes | None = None) -> None:
        """Remember what is known of the storage of a tensor."""
        if len(self._seen) > self._many:
            self.sweep()
        if tensor.layout != torch.strided or tensor.is_nested:
            return
        weak = StorageWeakRef(tensor.untyped_storage())
        self._seen[weak.cdata] = weak, Seen(what, None if axes is None else laid(tensor, axes))

    def forget(self, tensor: Tensor) -> None:
        """Know nothing more of the storage of a tensor."""
        key = _key(tensor)
        if key is not None:
            self._seen.pop(key, None)

    def sweep(self) -> None:
        """Let go of what is known of storages that are no more."""
        for key in [key for key, (weak, _) in self._seen.items() if weak.expired()]:
            del self._seen[key]
        self._many = max(_FEW, 2 * len(self._seen))


def _key(tensor: Tensor) -> int | None:
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None  # sparse tensors and the like have none
