"""The lab: everything that a property measures of a target, each thing measured once, and the passes counted."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.calling import Answer, Refused, answer
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Subject
from edgewise.checks.finding import Skip
from edgewise.checks.lab import rounding
from edgewise.checks.lab.influence import Influence
from edgewise.checks.lab.lengths import lengths_of
from edgewise.checks.lab.measured import influence_of
from edgewise.checks.lab.movement import apart
from edgewise.checks.lab.random_input import random_input
from edgewise.checks.lab.routes import LENGTH, plain_of, swept
from edgewise.checks.lab.rows import Reads, Writes, reads, writes
from edgewise.checks.lab.sites import Look, Seen, look
from edgewise.checks.meaning.declared import Declared
from edgewise.checks.meaning.expected import Expected, declared_graph
from edgewise.checks.meaning.meant import expected_of
from edgewise.graphs import Graph, recognise
from edgewise.tracing import as_written

__all__ = ["BudgetSpent", "Lab", "Measured"]


class BudgetSpent(Skip):
    """The time that may be spent is over."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Who reads whom on a route, as it was measured."""

    graph: Graph | None
    """None where the rules have no word for it."""
    cells: Tensor
    """bool (query, token)"""

    @property
    def says(self) -> str:
        """The graph by name, or a picture of its rows."""
        if self.graph is not None:
            return repr(self.graph)
        return " / ".join("".join("#" if one else "." for one in row) for row in self.cells.tolist())


class Lab:
    """What can be measured of a target; each measurement is made once and remembered.

    Args:
        subject: how the target is called.
        declared: what was meant.
        length: tokens of an input; made longer where a window is longer and inputs stay short.
        seed: of the random inputs.
        budget: seconds that may be spent; None for as many as needed.
        tell: told how many passes were made, now and then.
    """

    def __init__(
        self,
        subject: Subject,
        declared: Declared | None = None,
        length: int = LENGTH,
        seed: int = 0,
        budget: float | None = None,
        tell: Callable[[int], None] | None = None,
    ) -> None:
        self.subject, self.declared, self.seed = subject, declared or Declared(), seed
        self.lengths: tuple[int, ...] = lengths_of(subject, self.declared, length)
        """Lengths worth a look: the usual one, an odd one, one beyond every window and chunk."""
        self.length = self.lengths[0]
        self.routes: tuple[Route, ...] = swept(subject, self.length)
        self.plain: Route = plain_of(subject)
        self.passes = 0
        self.refused: dict[Route, str] = {}
        """Routes that the target does not take, and why."""
        self.mixing: set[Route] = set()
        """Routes on which rows of a batch were seen to read each other."""
        self.by_place: set[Route] = set()
        """Routes on which a row was seen to come out otherwise at another place of the batch."""
        self._until = None if budget is None else time.monotonic() + budget
        self._tell, self._told = tell, time.monotonic()
        self._known: dict[Any, Any] = {}
        self._own: set[int] = set()
        # What was measured is known by the input's id, so that every input lives as long as the lab.
        self._alive: dict[int, Given | Seen] = {}

    def where(self, **fixed: Any) -> list[Route]:
        """The routes that are so, and that the target takes."""
        found = [one for one in self.routes if all(getattr(one, name) == value for name, value in fixed.items())]
        return [one for one in found if self.takes(one)]

    def takes(self, route: Route) -> bool:
        """Whether the target goes this way at all."""
        try:
            self.answer(self.given(route), route)
        except Refused:
            return False
        return True

    def given(self, route: Route, length: int | None = None, seed: int = 0) -> Given:
        """A random input that suits the route, the same one each time."""
        length, allowed = length or self.length, self._allowed(route, length or self.length)
        # What is not told to the target differs between no two routes.
        key = (route.mask, route.batch, route.packed, route.switches if allowed is not None else (), length, seed)
        made = self.once(("given", *key), lambda: random_input(self.subject, route, length, self.seed + seed, allowed))
        self._own.add(id(made))
        return self._held(made)

    def answer(self, given: Given, route: Route, gradient: bool = False, seed: int = 0, **options: Any) -> Answer:
        """What the target answers; remembered for the inputs that the lab has made.

        Raises:
            Refused: the target does not take this route.
            BudgetSpent: the time is over.
        """
        if gradient or options or id(given) not in self._own:
            return self._asked(given, route, gradient, seed, **options)
        found = self.once(("answer", id(given), route, seed), lambda: self._caught(given, route, seed))
        if isinstance(found, Refused):
            raise found
        return found

    def out(self, given: Given, route: Route) -> Tensor:
        """The outputs alone."""
        return self.answer(given, route).out

    def truth(self, given: Given, route: Route) -> Tensor | None:
        """The outputs of a float64 copy; None where none can be made."""
        try:
            return self.out(given, replace(route, dtype="float64"))
        except Refused:
            return None

    def noise(self, route: Route) -> float:
        """How far two answers to the same input are apart: 0 for nearly everything."""
        given = self.given(route)
        return self.once(
            ("noise", route), lambda: float(apart(self.out(given, route), self._asked(given, route).out).max())
        )

    def close(self, one: Tensor, other: Tensor, route: Route, given: Given | None = None) -> float | None:
        """None where two outputs that should be equal are so up to rounding; else the largest difference.

        Args:
            one: an output.
            other: another.
            route: how they were made; of two routes, the one in the coarser dtype.
            given: an input like the one they were made from, where that is no ordinary one.
        """
        dtype = self.subject.dtype if route.dtype is None else getattr(torch, route.dtype)
        return rounding.difference(one, other, dtype, self.roundings(route, given))

    def roundings(self, route: Route, given: Given | None = None) -> float:
        """How many roundings add up in the outputs of a route; see `rounding`."""
        # Masks, caches and backends round alike; what is measured on the plain route no fault of theirs can widen.
        base = replace(self.plain, dtype=route.dtype)
        asked = self.given(base) if given is None else self._held(given)
        return self.once(
            ("roundings", base.dtype, None if given is None else id(given)), lambda: self._roundings(asked, base)
        )

    def influence(self, route: Route, row: int = 0, given: Given | None = None, of: str = "tokens") -> Influence:
        """Which outputs of a row depend on which of its tokens, or of its memory's (`of="memory"`).

        Raises:
            Refused: the target does not take this route.
            Skip: its outputs stand for no tokens.
            BudgetSpent: the time is over.
        """
        asked = self.given(route) if given is None else self._held(given)
        return self.once(("influence", route, row, id(asked), of), lambda: influence_of(self, route, row, asked, of))

    def measured(self, route: Route | None = None, row: int = 0) -> Measured:
        """Who reads whom on a route, with a name where it has one."""
        cells = self.influence(self.plain if route is None else route, row).moved
        return Measured(recognise(cells.numpy()), cells)

    def look(self, route: Route, given: Given | None = None) -> Look:
        """What tracing sees on a route.

        Raises:
            Refused: the target does not take this route.
        """
        asked = self.given(route) if given is None else self._held(given)
        return self.once(("look", route, id(asked)), lambda: look(self.traced(route), self._teller(route), asked))

    def calls(self, route: Route, given: Given | None = None) -> tuple[Seen, ...]:
        """Every call of attention on a route, as tracing sees it."""
        return self.look(route, given).calls

    def unexplained(self, route: Route) -> dict[str, str]:
        """What looks like attention on a route and was not captured: at which site, and why."""
        return self.look(route).unexplained

    def reads(self, route: Route | None = None) -> Reads | None:
        """Which tokens each row of query, key and value comes from, at the first site; None where nothing is seen."""
        route = self.plain if route is None else route
        return self.once(("reads", route), lambda: reads(self, route))

    def writes(self, route: Route | None = None) -> Writes | None:
        """Which outputs move with each row that the last site gives out; None where nothing is seen."""
        route = self.plain if route is None else route
        return self.once(("writes", route), lambda: writes(self, route))

    def expected(self, seen: Seen | None = None, route: Route | None = None) -> Expected:
        """Who should read whom: in one call of attention, or in the whole model."""
        key = ("expected", None if seen is None else id(self._held(seen)), route)
        return self.once(key, lambda: expected_of(self, seen, self.plain if route is None else route))

    def module(self, route: Route) -> nn.Module | None:
        """The module that answers on a route, in its dtype; None of a function."""
        cast = None if route.dtype is None else self.subject.casts.get(getattr(torch, route.dtype))
        return cast.module if isinstance(cast, Subject) else self.subject.module

    def traced(self, route: Route) -> Any:
        """What is traced on a route: the module that answers, or a function and whatever runs meanwhile.

        A method that is called by itself says nowhere on the way that it is the module's.
        """
        subject = self.subject
        method = subject.caching.method if route.cached and subject.caching else subject.method
        if method != "forward":
            return (
                getattr(subject.target, method) if isinstance(subject.target, nn.Module) and method else subject.target
            )
        return self.module(route) if self.subject.module is self.subject.target else self.subject.target

    def _teller(self, route: Route) -> Callable[[Given], Tensor]:
        return lambda given: self._asked(given, route).out

    def asked(self, given: Given, route: Route, gradient: bool = False) -> Tensor:
        """The outputs, not remembered."""
        return self._asked(given, route, gradient).out

    def _asked(self, given: Given, route: Route, gradient: bool = False, seed: int = 0, **options: Any) -> Answer:
        if self._until is not None and time.monotonic() > self._until:
            raise BudgetSpent("the time that may be spent is over")
        square = self.subject.square_mask
        if square is not None and square.name in dict(route.switches):
            route = replace(route, switches=tuple(one for one in route.switches if one[0] != square.name))
        self.passes += max(1, len(route.cached))
        if self._tell is not None and time.monotonic() > self._told + 0.5:
            self._tell(self.passes)
            self._told = time.monotonic()
        with as_written() if route.backend == "flex_attention" else nullcontext():
            return answer(self.subject, given, route, gradient, seed, **options)

    def _caught(self, given: Given, route: Route, seed: int) -> Answer | Refused:
        try:
            return self._asked(given, route, seed=seed)
        except Refused as why:
            if given.length == self.length:  # another length may be none that the target takes
                self.refused.setdefault(route, str(why))
            return why

    def _roundings(self, given: Given, route: Route) -> float:
        def outputs(dtype: str | None) -> Tensor | None:
            try:
                return self.out(given, route if dtype is None else replace(route, dtype=dtype))
            except Refused:
                return None

        own = self.subject.dtype if route.dtype is None else getattr(torch, route.dtype)
        return rounding.roundings(outputs, own)

    def _allowed(self, route: Route, length: int) -> Tensor | None:
        """The square mask that is handed over on a route."""
        square = self.subject.square_mask
        if square is None or not (square.required or square.name in dict(route.switches)):
            return None
        from edgewise.graphs import causal

        graph = declared_graph(self.declared) or causal()
        return torch.from_numpy(graph.dense(length, length))

    def _held(self, one: Any) -> Any:
        self._alive[id(one)] = one
        return one

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made for a key, made at the first asking."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]
