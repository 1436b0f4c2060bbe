"""A report as JSON, for programs; docs/check-json.md tells the fields, which keep their names and meaning."""

import json
import math
from typing import TYPE_CHECKING, Any

from edgewise.checks.finding import Finding, Observation

if TYPE_CHECKING:
    from edgewise.checks.report import Report, Result, Sight

__all__ = ["SCHEMA", "as_json", "described"]

SCHEMA = 1
"""Goes up when a field changes its meaning or goes away; a new field does not change it."""


def as_json(*reports: "Report") -> str:
    """Return the first report as a JSON object; where there are several, it holds all of them as `reports` besides."""
    told = [described(report) for report in reports]
    whole = told[0] if len(told) == 1 else told[0] | {"reports": told}
    return json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False)


def described(report: "Report") -> dict[str, Any]:
    """Return a report as plain values."""
    told = [(one, report.accepted.get(place, "")) for place, one in enumerate(report.findings)]
    return {
        "schema": SCHEMA,
        "target": report.target,
        "exit": report.exit_status,
        "verdict": report.verdict,
        "subject": report.subject,
        "expected": report.expected.graph,
        "measured": report.measured.graph,
        "graphs": {"expected": _sight(report.expected), "measured": _sight(report.measured)},
        "properties": [_result(one) for one in report.results],
        "findings": [_finding(one, accepted) for one, accepted in told if not one.cause.warning],
        "warnings": [_finding(one, accepted) for one, accepted in told if one.cause.warning],
        "routes": [str(route) for route in report.routes],
        "passes": report.passes,
        "seconds": round(report.seconds, 3),
        "notes": list(report.notes),
        "settings": dict(report.settings),
    }


def _sight(sight: "Sight") -> dict[str, Any]:
    return {"graph": sight.graph, "says": sight.says, "cells": list(sight.cells)}


def _result(result: "Result") -> dict[str, Any]:
    return {
        "name": result.name,
        "status": result.status,
        "why": result.why,
        "routes": result.routes,
        "seconds": round(result.seconds, 3),
        "error": result.mistake or None,
    }


def _finding(finding: Finding, accepted: str) -> dict[str, Any]:
    return {
        **_observation(finding.cause),
        "routes": [str(route) for route in finding.routes],
        "clean": [str(route) for route in finding.clean],
        "smallest": finding.smallest,
        "replay": finding.cause.replay,
        "accepted": accepted or None,
        "consequences": [{**_observation(one), "routes": [str(one.route)]} for one in finding.consequences],
    }


def _observation(one: Observation) -> dict[str, Any]:
    return {
        "property": one.property,
        "kind": one.kind,
        "status": "warn" if one.warning else "fail",
        "site": one.site or None,
        "head": one.head,
        "query": one.query,
        "key": one.key,
        "measured": one.measured,
        "expected": one.expected,
        "likely": one.likely,
        "size": one.size if math.isfinite(one.size) else None,
        "noise": one.noise if math.isfinite(one.noise) else None,
    }
