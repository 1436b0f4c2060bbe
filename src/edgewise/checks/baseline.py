"""Failures that are known: a file that a team keeps, so that only what is new counts."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.checks.finding import Finding
from edgewise.errors import DataError, MissingError

if TYPE_CHECKING:
    from edgewise.checks.report import Report

__all__ = ["Baseline", "Known"]

FORMAT = 1


@dataclass(frozen=True)
class Known:
    """A fault that was there when the baseline was written."""

    target: str
    property: str
    kind: str
    site: str
    routes: frozenset[str]


@dataclass(frozen=True)
class Baseline:
    """Known faults of one target, or of several."""

    known: tuple[Known, ...]

    def knows(self, target: str, finding: Finding) -> bool:
        """Return whether a finding is known: the same kind in the same module, and on no route that is new."""
        mine = _known(target, finding)
        return any(mine.routes <= one.routes and mine == replace(one, routes=mine.routes) for one in self.known)

    @staticmethod
    def of(*reports: "Report") -> "Baseline":
        """Return the baseline that knows every finding of some reports."""
        kept = (_known(report.target, one) for report in reports for one in report.findings if not one.cause.warning)
        return Baseline(tuple(kept))

    @staticmethod
    def read(path: str | Path) -> "Baseline":
        """Return the baseline that a file holds.

        Raises:
            MissingError: there is no such file.
            DataError: it is no baseline.
        """
        file = Path(path).expanduser()
        if not file.is_file():
            raise MissingError(f"wanted a baseline; there is no file {path}: write it with --write-baseline {path}")
        try:
            held = json.loads(file.read_text(encoding="utf-8"))
            if held["format"] != FORMAT:
                raise DataError(f"{path} is a baseline of format {held['format']}; this edgewise reads {FORMAT}")
            return Baseline(tuple(_read(held["known"])))
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path} is no baseline of edgewise: {type(error).__name__}: {error}") from None

    def write(self, path: str | Path) -> None:
        """Write it to a file, sorted, so that a change of it reads well."""
        told = [{**asdict(one), "routes": sorted(one.routes)} for one in self.known]
        told.sort(key=lambda one: [*one.values()])
        text = json.dumps({"format": FORMAT, "known": told}, ensure_ascii=False, indent=2)
        Path(path).expanduser().write_text(text + "\n", encoding="utf-8")


def _known(target: str, finding: Finding) -> Known:
    cause = finding.cause
    return Known(target, cause.property, cause.kind, cause.site, frozenset(str(route) for route in finding.routes))


def _read(held: Sequence[dict[str, Any]]) -> Iterable[Known]:
    for one in held:
        target, offence, kind, site = (str(one[name]) for name in ("target", "property", "kind", "site"))
        yield Known(target, offence, kind, site, frozenset(map(str, one["routes"])))
