"""A property of attention that can be checked: what it says, why, what it assumes, and an example of it broken."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgewise.checks.finding import Observation

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Example", "Property"]


@dataclass(frozen=True, eq=False)
class Example:
    """A target and what is declared of it, as `check` takes them."""

    target: Any
    declared: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, eq=False)
class Property:
    """One property."""

    name: str
    """The offence: "future-leak", so that "allow future-leak" reads right."""
    says: str
    """What holds where it holds, one sentence."""
    why: str
    """What goes wrong where it does not."""
    assumes: str
    """What must be so for it to be checked, and what is never held against a target."""
    kinds: Mapping[str, str]
    """Its kinds by code, each with a phrase: {"A1": "the mask is missing on some route"}."""
    references: tuple[str, ...]
    """Public reports of it, as owner/repository#number."""
    examine: "Callable[[Lab], Iterator[Observation]]"
    """Yields what is broken; raises Skip where it cannot be told."""
    broken: Callable[[], Example]
    """A target that breaks it and must be caught."""
    right: Callable[[], Example]
    """The same target mended, which must pass."""
