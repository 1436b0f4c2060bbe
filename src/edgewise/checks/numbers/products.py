"""Every product of matrices that a target computes on a route: where projections come from and weights go to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from edgewise.checks.calls.calling import answer
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Produced", "multiplied", "produced", "raised", "shares"]


@dataclass(frozen=True, eq=False)
class Produced:
    """One product."""

    left: Tensor
    right: Tensor
    out: Tensor
    learned: bool
    """Whether one of the two is a parameter: then it is a projection."""


class _Watching(TorchDispatchMode):
    """Notes operands and results of products, in the order in which they are made."""

    supports_higher_order_operators = True

    def __init__(self, learned: set[int]) -> None:
        super().__init__()
        self.found: list[Produced] = []
        self.numbers: list[float] = []
        self.raised: list[torch.Size] = []
        self._learned = learned

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = str(func).partition(".")[2].partition(".")[0]
        operands = {"mm": args[:2], "bmm": args[:2], "addmm": args[1:3], "baddbmm": args[1:3]}.get(name)
        if operands is not None:
            left, right = (one.detach() for one in operands)
            learned = any(one.untyped_storage().data_ptr() in self._learned for one in operands)
            self.found.append(Produced(left, right, out.detach(), learned))
        elif name in ("exp", "_softmax", "_safe_softmax"):
            self.raised.append(out.shape)
        elif name in ("mul", "div") and isinstance(out, Tensor) and out.dim() > 2 and (by := _number(args[1])):
            self.numbers.append(by if name == "mul" else 1 / by)
        return out


def _number(by: Any) -> float:
    """What a tensor is multiplied with, where that is one number other than 0 and 1; else 0."""
    if isinstance(by, Tensor):
        by = float(by) if by.dim() == 0 and not by.requires_grad else 0.0
    return float(by) if isinstance(by, int | float) and by != 1 else 0.0


def produced(lab: "Lab", given: Given, route: Route, *, dropout: bool = False) -> list[Produced]:
    """Return the products that a target computes on the way to its answer, with dropout in training or without.

    Raises:
        Refused: the target does not take this route.
    """
    return _watching(lab, given, route, dropout=dropout).found


def multiplied(lab: "Lab", given: Given, route: Route) -> list[float]:
    """Return the numbers that whole tensors are multiplied with on the way, in order.

    Raises:
        Refused: the target does not take this route.
    """
    return _watching(lab, given, route).numbers


def raised(lab: "Lab", given: Given, route: Route, query: int, key: int) -> bool:
    """Return whether exponentials of a matrix (…, query, key) are taken on the way, as a softmax takes them.

    Raises:
        Refused: the target does not take this route.
    """
    return any(shape[-2:] == (query, key) for shape in _watching(lab, given, route).raised)


def _watching(lab: "Lab", given: Given, route: Route, *, dropout: bool = False) -> _Watching:
    def watched() -> tuple[Given, _Watching]:
        return given, _watched(lab, given, route, dropout=dropout)

    # The input is kept beside, so that its id stays its own.
    return lab.once(("products", route, id(given), dropout), watched)[1]


def _watched(lab: "Lab", given: Given, route: Route, *, dropout: bool) -> _Watching:
    module = lab.subject.module
    learned = set() if module is None else {one.untyped_storage().data_ptr() for one in module.parameters()}
    with _Watching(learned) as watching:
        answer(lab.subject, given, route, dropout=dropout)
    return watching


def shares(products: list[Produced], query: int, key: int) -> Iterator[Tensor]:
    """Yield what values are multiplied with, (batch, query, key): matrices of that size without a negative number.

    They are in the dtype in which they are multiplied, which says how finely they sum to one.

    The product may be written either way round; other numbers of that shape that are never negative would be taken for
    weights too, so ask with lengths that nothing else has.
    """
    for one in products:
        if one.learned:
            continue
        for weights in (one.left, one.right.transpose(-2, -1)):
            if weights.shape[-2:] == (query, key) and bool((weights >= 0).all()) and bool((weights > 0).any()):
                yield weights.reshape(-1, query, key)
                break
