"""A record: every call of attention that was kept of one run of a model, and what the run was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any

from edgewise.errors import ArgumentError
from edgewise.records.call import Call
from edgewise.records.calls import Calls
from edgewise.records.site import Site

__all__ = ["Proof", "Record", "Tokens"]

Tokens = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Proof:
    """Whether looking changed anything: the model's outputs with and without tracing, compared.

    Args:
        checked: whether anybody compared.
        difference: largest difference between an output number with and without tracing; 0.0 is bit for bit.
        noise: the same between two runs without tracing: what the backend does not repeat.
        outputs: how many output numbers were compared.
        gradients: as `difference`, of the gradients of all parameters; NaN where nobody compared them.
        gradient_numbers: how many of their numbers were compared.
    """

    checked: bool = False
    difference: float = nan
    noise: float = nan
    outputs: int = 0
    gradients: float = nan
    gradient_numbers: int = 0

    @property
    def exact(self) -> bool:
        """Whether every output was the same, bit for bit, and every gradient that was compared."""
        return self.checked and self.difference == 0 and (not self.gradient_numbers or self.gradients == 0)

    def __str__(self) -> str:
        if not self.checked:
            return "not compared with an untouched run"
        if self.exact:
            gradients = f" and {self.gradient_numbers:,} of gradients" if self.gradient_numbers else ""
            return f"{self.outputs:,} output numbers{gradients} equal an untouched run's, bit for bit"
        noise = f"two untouched runs differ by {self.noise:.1e}" if self.noise == self.noise else "noise not measured"
        gradients = f", gradients by at most {self.gradients:.1e}" if self.gradient_numbers else ""
        return (
            f"{self.outputs:,} output numbers differ from an untouched run's by at most {self.difference:.1e}"
            f"{gradients}; {noise}"
        )


@dataclass(frozen=True, eq=False)
class Record:
    """What was kept of one run.

    Args:
        calls: in the order in which they happened.
        tokens: what the model read, a tuple of texts a sequence; those that it wrote included.
        source: what cross attention read, where that is another text.
        target: which model, as the user named it.
        proof: whether looking changed anything.
        made: versions and date.
        inputs: whatever else describes what went in; JSON values.
    """

    calls: Sequence[Call]
    tokens: Tokens | None = None
    source: Tokens | None = None
    target: str = ""
    proof: Proof = Proof()
    made: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not isinstance(self.calls, Calls):
            object.__setattr__(self, "calls", Calls.of(self.calls))

    @property
    def site_of_each(self) -> Sequence[Site]:
        """The site of each call, in order; no call is read for it."""
        assert isinstance(self.calls, Calls)
        return self.calls.sites

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites, in the order of their first call."""
        return tuple(dict.fromkeys(self.site_of_each))

    def call(self, site: str | Site, index: int = 0) -> Call:
        """Return one call of a site; a negative index counts from the last.

        Raises:
            ArgumentError: the record has no such site, or the site was not called so often.
        """
        numbers = self._numbers(site)
        if not -len(numbers) <= index < len(numbers):
            name = self.site_of_each[numbers[0]].name
            raise ArgumentError(f"{name} has calls 0 to {len(numbers) - 1}; got index {index}")
        return self.calls[numbers[index]]

    def of(self, site: str | Site) -> tuple[Call, ...]:
        """Return all calls of a site, in order.

        Raises:
            ArgumentError: the record has no such site.
        """
        return tuple(self.calls[number] for number in self._numbers(site))

    def heads(self) -> tuple[tuple[Site, int], ...]:
        """Return every head that is kept, as (site, head)."""
        kept: dict[tuple[Site, int], None] = {}
        for call in self.calls:
            kept |= {(call.site, head): None for head in call.heads}
        return tuple(kept)

    def _numbers(self, site: str | Site) -> list[int]:
        name = site if isinstance(site, str) else site.name
        numbers = [number for number, one in enumerate(self.site_of_each) if one.name == name]
        if not numbers:
            names = [one.name for one in self.sites]
            shown = ", ".join(names if len(names) <= 6 else [*names[:4], "…", names[-1]])
            raise ArgumentError(f"wanted a site of the record; got {name!r}; it has {shown or 'none'}")
        return numbers
