"""Capturing: every call of attention that a model makes while it is watched."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from edgewise.errors import TraceError
from edgewise.records import Proof, Record
from edgewise.tracing.call import Attention
from edgewise.tracing.captured import Captured, captured, copied
from edgewise.tracing.choice import Choice, Numbers, Sites
from edgewise.tracing.growing import Growing
from edgewise.tracing.made import made
from edgewise.tracing.routes import ROUTES
from edgewise.tracing.verify import Check, compared
from edgewise.tracing.watch import Watch, listening

__all__ = ["Run", "trace", "watched"]


class Run:
    """What has been captured so far; it is filled while the model runs.

    Args:
        choice: what to keep.
        check: how many rows to compute again: "some", "all" or "none".
        copy: whether to hold copies rather than the model's own tensors.
    """

    def __init__(self, choice: Choice, check: Check, copy: bool) -> None:
        self.calls: list[Captured] = []
        self.proof = Proof()
        self._choice, self._copy = choice, copy
        self._check: Check = check
        self._counts: dict[str, int] = {}
        self._growing = Growing()

    def listen(self, attention: Attention, original: Callable[[], Tensor]) -> Tensor:
        """Let the call happen and keep what is wanted of it."""
        out = original()
        site = attention.site
        kept = self._choice.kept(site, attention.query.shape[2]) if self._choice.wants(site) else None
        if kept is None:
            return out
        seen = attention.trimmed()
        checked = compared(seen, out, self._check)
        index = self._counts.get(site.name, 0)
        self._counts[site.name] = index + 1
        found = captured(seen, out, index, kept, self._choice, checked)
        found = copied(found) if self._copy else found
        self.calls.append(self._growing.held(found, reused=seen is not attention))
        return out

    def record(self, *, target: str = "") -> Record:
        """The run as a value.

        Raises:
            TraceError: no call was seen, or the model has written into a captured tensor since.
        """
        if not self.calls:
            raise TraceError(
                "no attention was seen: wanted calls of transformers' attention functions, of torch's "
                "scaled_dot_product_attention, MultiheadAttention or flex_attention; run the model inside `with trace`"
                + ("" if self._choice.sites is None else f", and see whether sites={self._choice.sites!r} names any")
            )
        return Record(tuple(one.call() for one in self.calls), target=target, proof=self.proof, made=made())


@contextmanager
def trace(
    model: object,
    *,
    sites: Sites = None,
    heads: Numbers = None,
    rows: Numbers = None,
    dtype: torch.dtype | None = None,
    check: Check = "some",
    copy: bool = False,
) -> Generator[Run]:
    """While this lasts, every call of attention of `model` is captured; the model computes what it always does.

    Args:
        model: a module; or any function, and then whatever attention runs meanwhile.
        sites: which to keep: names, patterns with * and ?, numbers of layers, "self" or "cross".
        heads: which query heads to keep.
        rows: which queries of each call to keep.
        dtype: what to keep numbers in; None for the model's own.
        check: how many rows of each output to compute again and compare.
        copy: whether to hold copies, for a model that writes into tensors which attention has used.

    Raises:
        ArgumentError: a site, a head or a dtype is not one that can be kept.
        TraceError: a call's query, key, value and mask do not explain its output.

    Example:
        >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.randn(1, 5, 8)
        >>> with trace(layer) as run:
        ...     out, _ = layer(x, x, x, need_weights=False)
        >>> run.calls[0].graph
        full()
    """
    run = Run(Choice(sites, heads, rows, dtype), check, copy)
    with watched(Watch(model, run.listen)):
        yield run


@contextmanager
def watched(watch: Watch) -> Generator[None]:
    """While this lasts, the watch is told of its model's calls, whichever way they are made."""
    with ExitStack() as routes:
        routes.enter_context(listening(watch))
        for route in ROUTES:
            routes.enter_context(route(watch))
        yield
