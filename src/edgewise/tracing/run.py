"""What has been captured of a run so far, and the record that is made of it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from torch import Tensor

from edgewise.errors import ArgumentError, TraceError
from edgewise.records import Proof, Record, Statistics, Tokens, Writer, open_record
from edgewise.tracing.call import Attention
from edgewise.tracing.captured import Captured, captured, copied
from edgewise.tracing.choice import Choice
from edgewise.tracing.growing import Growing
from edgewise.tracing.made import made
from edgewise.tracing.measured import measured
from edgewise.tracing.sites import Place
from edgewise.tracing.verify import Check, compared

__all__ = ["Keep", "Run"]

Keep = Literal["calls", "statistics", "both"]


class Run:
    """The calls that have been captured so far; it is filled while the model runs.

    Args:
        choice: what to keep.
        check: how many rows to compute again: "some", "all" or "none".
        copy: whether to hold copies rather than the model's own tensors.
        out: the file that calls are written to as they happen, and then not held.
        keep: "calls", "statistics" or "both".
    """

    def __init__(self, choice: Choice, check: Check, copy: bool, out: str | Path | None, keep: Keep = "calls") -> None:
        if keep not in get_args(Keep):
            raise ArgumentError(f'keep must be "calls", "statistics" or "both"; got {keep!r}')
        if keep == "statistics" and out is not None:
            raise ArgumentError(
                'out is a file of calls; got out and keep="statistics": say keep="both", or leave out out'
            )
        self.calls: list[Captured] = []
        """The calls, in the order in which they happened; empty where they go to a file."""
        self.proof = Proof()
        """Whether looking changed anything: known where the model was run untouched as well."""
        self.unexplained: dict[str, str] = {}
        """What looks like attention and is not understood, so that it was not captured: at which site, and why."""
        self._choice, self._copy, self._path, self._what = choice, copy, out, keep
        self._measured: dict[str, list[Statistics]] = {}
        self._check: Check = check
        self._writer = None if out is None else Writer(out)
        self._counts: dict[str, int] = {}
        self._growing = Growing()
        self._lock = threading.Lock()
        self._about: dict[str, Any] = {}

    def listen(self, attention: Attention, original: Callable[[], Tensor]) -> Tensor:
        """Let the call happen and keep what is wanted of it.

        Raises:
            TraceError: what was seen does not explain the output.
        """
        out = original()
        site = attention.site
        kept = self._choice.kept(site, attention.query.shape[2]) if self._choice.wants(site) else None
        if kept is None:
            return out
        seen = attention.trimmed()
        checked = compared(seen, out, self._check)
        numbers = None if self._what == "calls" else measured(seen, kept, self._choice)
        with self._lock:
            index = self._counts.get(site.name, 0)
            self._counts[site.name] = index + 1
            if numbers is not None:
                self._measured.setdefault(site.name, []).append(numbers)
            if self._what != "statistics":
                self._keep(captured(seen, out, index, kept, self._choice, checked), reused=seen is not attention)
        return out

    @property
    def statistics(self) -> dict[str, Statistics]:
        """What each query did with its keys, by the name of the site; rows of several calls follow each other.

        Raises:
            ArgumentError: only calls are kept.
            ShapeError: a site was called with other sequences or heads than before.
        """
        if self._what == "calls":
            raise ArgumentError('statistics are not kept; trace with keep="statistics" or keep="both"')
        return {name: several[0].followed_by(*several[1:]) for name, several in self._measured.items()}

    def _keep(self, found: Captured, *, reused: bool) -> None:
        if self._writer is not None:
            self._writer.add(found.call())
        elif self._copy:
            self.calls.append(self._growing.held(copied(found), reused=False))
        else:
            self.calls.append(self._growing.held(found, reused=reused))

    def miss(self, place: Place, why: str) -> None:
        """Remember a softmax between two products that is not understood."""
        self.unexplained.setdefault(place.name, why)

    def describe(
        self,
        *,
        tokens: Tokens | None = None,
        source: Tokens | None = None,
        target: str = "",
        inputs: dict[str, Any] | None = None,
    ) -> None:
        """Say what the run was; see `Record`."""
        self._about |= {"tokens": tokens, "source": source, "target": target, "inputs": inputs or {}}

    def record(self) -> Record:
        """The run as a value; of a run that went to a file, the file opened, once tracing has ended.

        Raises:
            ArgumentError: only statistics are kept.
            TraceError: no call was seen, or the model has written into a captured tensor since.
        """
        if self._what == "statistics":
            raise ArgumentError('a record is made of calls, which are not kept; trace with keep="both"')
        if not self._counts:
            raise TraceError(
                "no attention was seen: wanted calls of transformers' attention functions or of torch's "
                "scaled_dot_product_attention, MultiheadAttention or flex_attention, or a softmax between two "
                "products; run the model inside `with trace`"
                + "".join(f"; {site}: seen, not understood: {why}" for site, why in self.unexplained.items())
                + ("" if self._choice.sites is None else f", and see whether sites={self._choice.sites!r} names any")
            )
        if self._path is not None:
            return open_record(self._path)
        calls = tuple(one.call() for one in self.calls)
        return Record(calls, **self._said(), proof=self.proof, made=made())

    def close(self, *, whole: bool) -> None:
        """End the file, if there is one: put it in its place, or discard it where the run has failed."""
        if self._writer is None:
            return
        if whole:
            self._writer.describe(**self._said(), proof=self.proof, made=made())
            self._writer.close()
        self._writer.discard()

    def _said(self) -> dict[str, Any]:
        if not self.unexplained:
            return self._about
        inputs = {**self._about.get("inputs", {}), "unexplained": dict(self.unexplained)}
        return {**self._about, "inputs": inputs}
