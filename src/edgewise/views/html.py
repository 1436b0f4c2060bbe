"""One HTML file with everything in it: it opens from anywhere and asks nobody for anything.

Bytes stand in it nearly as they are: the file is in windows-1252, which has a character for every byte, so that packed
numbers cost 1 % more than their bytes, where base64 would cost a third. All text is ASCII with escapes.
"""

import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgewise.errors import ArgumentError, MissingError, RunError
from edgewise.records import Record
from edgewise.views.live import NONE, Can, Output
from edgewise.views.packing import Packing
from edgewise.views.scene import scene

__all__ = ["bundle", "escaped", "html", "packed_text", "write_html"]

SHIFT, ESCAPE = 42, b"="
# Shifted bytes that HTML would not leave as they are, and the escape itself.
SPECIAL = (b"=", b"\0", b"\r", b"<")
TABLE = bytes((byte + SHIFT) % 256 for byte in range(256))


def html(record: Record, can: Can = NONE, output: Output | None = None) -> bytes:
    """The page of a record as one file.

    Raises:
        MissingError: the page was not built.
        ArgumentError: the record has no calls.
    """
    if not len(record.calls):
        raise ArgumentError("a page shows calls of attention; this record has none")
    packing = Packing(record.calls)
    whole = {"scene": scene(record, can, output), "packed": packing.index}
    return b"".join(
        (
            b'<!doctype html>\n<html lang="en"><meta charset="windows-1252">\n',
            b'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            b"<title>edgewise \xb7 " + _text(record.target or "a model") + b"</title>\n",
            b"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
            b"style-src 'unsafe-inline'; img-src data: blob:\">\n",
            b'<body style="margin:0"><div data-edgewise="file"></div>\n<script type="application/json" id="scene">',
            _json(whole),
            b'</script>\n<script type="application/octet-stream" id="packed">',
            packed_text(packing.bytes()),
            b'</script>\n<script type="module">\n',
            escaped(bundle()),
            b"\n</script></body></html>\n",
        )
    )


def write_html(record: Record, path: str | Path, **how: Any) -> Path:
    """Write the page of a record; see `html`. The file is whole or not there."""
    target = Path(path).expanduser()
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    page = html(record, **how)
    try:
        temporary.write_bytes(page)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(f"the page {path} cannot be written ({error.strerror})") from error
    return target


def bundle() -> str:
    """The page's program.

    Raises:
        MissingError: it was not built.
    """
    found = files("edgewise.views").joinpath("static", "edgewise.js")
    if not found.is_file():
        raise MissingError(
            "the page is not built: wanted edgewise/views/static/edgewise.js; in a checkout, run scripts/bundle"
        )
    return found.read_text(encoding="utf-8")


def packed_text(raw: bytes) -> bytes:
    """Bytes as characters that HTML leaves alone; web/src/source/unpack.ts turns them back."""
    text = raw.translate(TABLE)
    for byte in SPECIAL:
        text = text.replace(byte, ESCAPE + bytes([byte[0] + 64]))
    return text


def escaped(program: str) -> bytes:
    """A program in ASCII that no HTML parser takes for the end of a script."""
    ascii_only = re.sub(r"[^\x00-\x7f]", lambda one: _units(one[0]), program)
    return ascii_only.replace("</script", "<\\/script").replace("<!--", "<\\!--").encode("ascii")


def _units(one: str) -> str:
    raw = one.encode("utf-16-be")
    return "".join(f"\\u{raw[at]:02x}{raw[at + 1]:02x}" for at in range(0, len(raw), 2))


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").encode("ascii")


def _text(text: str) -> bytes:
    """Text for HTML, in ASCII."""
    return text.translate({ord(one): f"&#{ord(one)};" for one in "<>&\"'"}).encode("ascii", "xmlcharrefreplace")
