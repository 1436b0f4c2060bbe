"""Checks: is the attention of a model what it was meant to be, on every way through its code?

`check` looks at each property of a target and returns a `Report`. How a target is called is a `Subject`, found out by
`subject_of`; what is measured is measured once, by a `Lab`; each of the `PROPERTIES` says what must hold and yields
`Observation`s of where it does not; they are folded so that one fault is one `Finding`. What nobody declared and no
config says is inferred and told. What cannot be checked is skipped with a reason and never passes.
"""

from edgewise.checks.asked import chosen
from edgewise.checks.baseline import Baseline
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.subject import Argument, Subject
from edgewise.checks.check import check
from edgewise.checks.explain import explained
from edgewise.checks.finding import Finding, Observation, Skip
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.meaning.declared import Declared
from edgewise.checks.properties import PROPERTIES
from edgewise.checks.property import Example, Property
from edgewise.checks.report import CheckFailure, Report, Result, Sight
from edgewise.checks.reports import as_json, described, junit, of_property, page, painted

__all__ = [
    "PROPERTIES",
    "Argument",
    "Baseline",
    "CheckFailure",
    "Declared",
    "Example",
    "Finding",
    "Given",
    "Lab",
    "Observation",
    "Property",
    "Report",
    "Result",
    "Route",
    "Sight",
    "Skip",
    "Subject",
    "as_json",
    "check",
    "chosen",
    "described",
    "explained",
    "junit",
    "of_property",
    "page",
    "painted",
    "subject_of",
]
