"""What a request asks for, read and checked: every mistake is one sentence."""

import json
from collections.abc import Mapping
from typing import Any

from edgewise.errors import ArgumentError
from edgewise.records import Call, Record
from edgewise.views.live import LINES, Switch

__all__ = ["call_of", "number", "pair", "span", "stage", "switches", "text"]

STAGES = ("raw", "scaled", "masked", "weights")
LONGEST = 200_000
"""Characters of a text that a page may send."""


def number(asked: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Return a whole number.

    Raises:
        ArgumentError: it is missing or is no whole number.
    """
    given = asked.get(name, default)
    try:
        if isinstance(given, bool | float):
            raise ValueError
        return int(given)  # pyright: ignore[reportArgumentType] — anything but a number ends below
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be a whole number; got {_shown(given)}") from None


def span(asked: Mapping[str, Any], name: str) -> slice:
    """Return neighbouring rows or keys, told as start:stop.

    Raises:
        ArgumentError: they are not told so.
    """
    start, colon, stop = str(asked.get(name, "")).partition(":")
    if not colon or not start.isdecimal() or not stop.isdecimal():
        raise ArgumentError(f"{name} must be start:stop, like 0:512; got {_shown(asked.get(name))}")
    return slice(int(start), int(stop))


def pair(asked: Mapping[str, Any], name: str, largest: int) -> tuple[int, int]:
    """Return two numbers from 1, told as a,b.

    Raises:
        ArgumentError: they are not told so, or one is too large.
    """
    parts = str(asked.get(name, "")).split(",")
    if len(parts) != 2 or not all(one.isdecimal() and 1 <= int(one) <= largest for one in parts):
        raise ArgumentError(
            f"{name} must be two numbers from 1 to {largest}, like 256,256; got {_shown(asked.get(name))}"
        )
    return int(parts[0]), int(parts[1])


def stage(asked: Mapping[str, Any]) -> str:
    """Return a stage.

    Raises:
        ArgumentError: there is no such stage.
    """
    given = asked.get("stage", "weights")
    if given not in STAGES:
        raise ArgumentError(f"stage must be one of {', '.join(STAGES)}; got {_shown(given)}")
    return given


def call_of(record: Record, asked: Mapping[str, Any]) -> Call:
    """Return the call that is asked for.

    Raises:
        ArgumentError: the record has no such site or call.
    """
    return record.call(str(asked.get("site", "")), number(asked, "call", 0))


def text(asked: Mapping[str, Any]) -> str:
    """Return the text that is to be read.

    Raises:
        ArgumentError: there is none, or it is too long.
    """
    given = asked.get("text")
    if not isinstance(given, str) or not given:
        raise ArgumentError(f"text must be a text that is not empty; got {_shown(given)}")
    if len(given) > LONGEST:
        raise ArgumentError(f"text has at most {LONGEST:,} characters here; got {len(given):,}")
    return given


def switches(asked: Mapping[str, Any], record: Record) -> list[Switch]:
    """Return the lines that are to be replaced.

    Raises:
        ArgumentError: they name no line, site or head of the record.
    """
    given = asked.get("switches")
    if not isinstance(given, list) or len(given) > 10_000:  # pyright: ignore[reportUnknownArgumentType]
        raise ArgumentError(f"switches must be a list; got {_shown(given)}")
    return [_switch(one, record) for one in given]  # pyright: ignore[reportUnknownVariableType]


def _switch(given: Any, record: Record) -> Switch:
    if not isinstance(given, dict) or given.get("line") not in LINES:  # pyright: ignore[reportUnknownMemberType]
        raise ArgumentError(f"a switch has a line, one of {', '.join(LINES)}; got {_shown(given)}")
    site = next((one for one in record.sites if one.name == given.get("site")), None)  # pyright: ignore
    if site is None:
        raise ArgumentError(f"a switch names a site of the record; got {_shown(given.get('site'))}")  # pyright: ignore
    heads: Any = given.get("heads")  # pyright: ignore[reportUnknownMemberType]
    whole = isinstance(heads, list) and all(type(one) is int and 0 <= one < site.heads for one in heads)  # pyright: ignore
    if heads is not None and not whole:
        raise ArgumentError(f"heads of {site.name} are numbers from 0 to {site.heads - 1}; got {_shown(heads)}")
    return Switch(site.name, given["line"], None if heads is None else tuple(sorted(set(heads))))  # pyright: ignore


def _shown(given: Any) -> str:
    said = json.dumps(given, default=str, ensure_ascii=False)
    return said if len(said) <= 80 else said[:77] + "…"
