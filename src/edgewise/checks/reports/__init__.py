"""Reports: what was found of a target as text for a terminal, as JSON, as JUnit's XML and as one HTML file."""

from edgewise.checks.reports.as_json import SCHEMA, as_json, described
from edgewise.checks.reports.html import fragment, page
from edgewise.checks.reports.junit import junit
from edgewise.checks.reports.terminal import MARKS, of_property, painted, terminal

__all__ = ["MARKS", "SCHEMA", "as_json", "described", "fragment", "junit", "of_property", "page", "painted", "terminal"]
