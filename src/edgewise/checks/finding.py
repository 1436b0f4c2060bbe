"""What a property found: first as an observation on one route, then folded into findings that can be acted on."""

from dataclasses import dataclass

from edgewise.checks.calls.route import Route

__all__ = ["Finding", "Observation", "Skip"]


class Skip(Exception):  # noqa: N818 — it is no error: a property says why it cannot be told of this target
    """A property cannot be checked on this target; the text says why, in a sentence that goes into the report."""


@dataclass(frozen=True)
class Observation:
    """One property broken on one route."""

    property: str
    kind: str
    """Which of the property's kinds, like "A1"."""
    route: Route
    measured: str
    """What is, in words and numbers: "row 7 sees keys 4…7 (window(4))"."""
    expected: str
    """What was meant, in the same words."""
    likely: str = ""
    """The likely cause: "True means hide here, but SDPA reads True as keep"."""
    site: str = ""
    """The module at fault, as the model names it, where it is known."""
    head: int | None = None
    query: int | None = None
    key: int | None = None
    size: float = float("nan")
    """How large the effect is, in units of the output."""
    noise: float = float("nan")
    """What the same measurement gives where nothing differs."""
    replay: str = ""
    """Python that shows it again; made by `replay.py` where it is empty."""
    warning: bool = False
    """Whether it is only worth a look: it may be meant."""


@dataclass(frozen=True)
class Finding:
    """One fault: the observation that names its cause, every route that has it, and what follows from it."""

    cause: Observation
    routes: tuple[Route, ...]
    clean: tuple[Route, ...] = ()
    """Routes on which the same was looked for and is right."""
    consequences: tuple[Observation, ...] = ()
    """What other properties saw of the same fault."""
    smallest: str = ""
    """The smallest input that still shows it: "3 tokens, batch of one"."""
