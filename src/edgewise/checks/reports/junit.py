"""Reports as JUnit's XML, for continuous integration: a suite a target, a case a property."""

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from edgewise.checks.reports.terminal import of_property, terminal

if TYPE_CHECKING:
    from edgewise.checks.report import Report

__all__ = ["junit"]

_UNWRITTEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(*reports: "Report") -> str:
    """Return reports as one XML document; what XML cannot hold is left out of the texts."""
    whole = Xml.Element("testsuites", name="edgewise check")
    for report in reports:
        statuses = [one.status for one in report.results]
        suite = Xml.SubElement(
            whole,
            "testsuite",
            name=_clean(report.target),
            tests=str(len(statuses)),
            failures=str(statuses.count("fail")),
            errors=str(len(report.mistakes)),
            skipped=str(statuses.count("skip") - len(report.mistakes)),
            time=f"{report.seconds:.3f}",
        )
        for one in report.results:
            name, time = f"edgewise.{report.target}", f"{one.seconds:.3f}"
            case = Xml.SubElement(suite, "testcase", classname=_clean(name), name=one.name, time=time)
            if one.mistake:
                Xml.SubElement(case, "error", message=_clean(one.why)).text = _clean(one.mistake)
            elif one.status == "skip":
                Xml.SubElement(case, "skipped", message=_clean(one.why))
            elif one.status == "fail":
                Xml.SubElement(case, "failure", message=_clean(one.why)).text = _clean(of_property(report, one.name))
        Xml.SubElement(suite, "system-out").text = _clean(terminal(report))
    Xml.indent(whole)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(whole, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _UNWRITTEN.sub("", text)
