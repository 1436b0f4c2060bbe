"""The pytest plugin: `pytest --edgewise my_pkg.model:build` adds a test a property; `edgewise_check` is a fixture.

Nothing heavy is loaded unless one of them is used. A target is checked once in a process, by the first of its tests
that runs; under xdist, `--dist loadgroup` keeps the tests of one target together.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from edgewise.checks import Report

__all__ = [
    "CheckItem",
    "CheckTarget",
    "edgewise_check",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the targets that are to be checked, and what is meant of them."""
    add = parser.getgroup("edgewise", "whether attention is what it was meant to be").addoption
    target = "a target as edgewise check takes it (may be given again): a test for each property"
    add("--edgewise", action="append", default=[], metavar="TARGET", help=target)
    add("--edgewise-graph", metavar="GRAPH", help="who may read whom, like 'window(4)', for each of these targets")
    allowed = "a property that may fail, with a reason (may be given again)"
    add("--edgewise-allow", action="append", default=[], metavar="PROPERTY=REASON", help=allowed)
    add("--edgewise-baseline", metavar="FILE", help="failures in this file are known and not counted")


def pytest_configure(config: pytest.Config) -> None:
    """Tell of a mistake in an option before any test runs."""
    if config.getoption("--edgewise"):
        _options(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each property of each target, before others choose among them."""
    for name in config.getoption("--edgewise") or ():
        target = CheckTarget.from_parent(session, name=name, nodeid=f"edgewise::{name}")
        items.extend(target.collect())


class CheckTarget(pytest.Collector):
    """A target: it is checked when the first of its tests runs."""

    _held: "Report | None" = None

    def collect(self) -> Iterator["CheckItem"]:
        """Yield a test for each property."""
        from edgewise.checks import PROPERTIES

        for one in PROPERTIES:
            item = CheckItem.from_parent(self, name=one.name)
            if self.config.pluginmanager.hasplugin("xdist"):
                item.add_marker(pytest.mark.xdist_group(self.nodeid))
            yield item

    def report(self) -> "Report":
        """Return the report of the target."""
        from edgewise.checks import check

        if self._held is None:
            self._held = check(self.name, **_options(self.config))
        return self._held


class CheckItem(pytest.Item):
    """One property of one target."""

    def runtest(self) -> None:
        """Fail where the property fails, and skip where it cannot be told; what is known is an expected failure."""
        from edgewise.checks import CheckFailure, of_property

        assert isinstance(self.parent, CheckTarget)
        report = self.parent.report()
        result = report.result(self.name)
        own = [place for place, one in enumerate(report.findings) if one.cause.property == self.name]
        told = f"{result.name}: {result.why}\n\n{of_property(report, self.name)}".rstrip()
        if result.status == "fail" or result.mistake:
            raise CheckFailure(told)
        if result.status == "skip":
            pytest.skip(result.why)
        if result.status == "warn":
            self.add_report_section("call", "edgewise", told)
            if own and all(place in report.accepted for place in own):
                pytest.xfail(result.why)
            if not own:
                pytest.skip(result.why)  # it follows from another property, whose test fails

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the finding alone: where our code was says nothing."""
        from edgewise.checks import CheckFailure
        from edgewise.errors import EdgewiseError

        if isinstance(excinfo.value, CheckFailure | EdgewiseError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return how the test is named in reports."""
        assert self.parent is not None
        return self.path, None, f"edgewise {self.parent.name}: {self.name}"


@pytest.fixture
def edgewise_check(pytestconfig: pytest.Config) -> "Callable[..., Report]":
    """A function that checks a target as `edgewise.check` does and fails the test where a property fails."""

    def checked(target: Any, **declared: Any) -> "Report":
        from edgewise.checks import check

        return check(target, **_options(pytestconfig) | declared).raise_for_failures()

    return checked


def _options(config: pytest.Config) -> dict[str, Any]:
    """Return what the options say, as `edgewise.check` takes it."""
    found: dict[str, Any] = {}
    if config.getoption("--edgewise-graph"):
        found["graph"] = config.getoption("--edgewise-graph")
    if config.getoption("--edgewise-baseline"):
        from edgewise.checks import Baseline
        from edgewise.errors import EdgewiseError

        try:
            found["baseline"] = Baseline.read(str(config.getoption("--edgewise-baseline")))
        except EdgewiseError as mistake:
            raise pytest.UsageError(f"--edgewise-baseline: {mistake}") from None
    for said in config.getoption("--edgewise-allow") or ():
        name, _, why = said.partition("=")
        if not why.strip():
            raise pytest.UsageError(f"--edgewise-allow wants PROPERTY=REASON, with a reason; got {said!r}")
        found.setdefault("allow", {})[name.strip()] = why.strip()
    return found
