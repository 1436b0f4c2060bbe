"""`edgewise view`: a record, or a model on a text, as a page, a file or text."""

import argparse
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from edgewise.cli.command import Command
from edgewise.cli.named import add_reading, add_target, given, named
from edgewise.errors import ArgumentError

if TYPE_CHECKING:
    from edgewise.views import Live, Seen

__all__ = ["VIEW"]

DESCRIPTION = """\
See every edge, and the arithmetic of any cell: all heads at a glance, one head large, one cell to its last digit.

  edgewise view                                           the shipped model on a line of text: switch, train, look
  edgewise view run.edgewise                              a record, of any size
  edgewise view --tiny llama                              any architecture, small and random
  edgewise view ./SmolLM2-135M --text "The king"          a model of yours on a text of yours
  edgewise view run.edgewise --html run.html              one file with everything in it, for anybody's browser
  edgewise view run.edgewise --print --site h.0 --head 3  here in the terminal; with --query 5 a row, --key 2 a cell

The page is served to this machine alone, until Ctrl-C.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_reading(parser)
    shown = parser.add_argument_group("how it is shown").add_argument
    shown("--html", metavar="PATH", help="write one HTML file with everything in it, and end")
    shown("--print", action="store_true", help="print it, and end: all heads, or what the next four say")
    shown("--site", metavar="NAME", help="with --print: the heads of this site")
    shown("--head", type=int, metavar="N", help="with --print: this head as a picture")
    shown("--query", type=int, metavar="N", help="with --print: what this query reads, the most first")
    shown("--key", type=int, metavar="N", help="with --print: the arithmetic of this cell")
    shown("--beside", metavar="OTHER", help="another record, or another model on the same text, to stand beside it")
    shown("--port", type=int, default=0, metavar="N", help="serve on this port (default: any that is free)")
    shown("--no-open", action="store_true", help="do not open a browser")


def _run(arguments: argparse.Namespace) -> int:
    from edgewise.views import text, write_html

    if not 0 <= arguments.port <= 65_535:
        raise ArgumentError(f"--port is a number from 0 to 65535; got {arguments.port}")
    seen, live = _opened(arguments)
    if arguments.print:
        print(text(seen.record, arguments.site, arguments.head, arguments.query, arguments.key))
        return 0
    if arguments.html is not None:
        path = write_html(seen.record, arguments.html, output=seen.output)
        print(
            f"wrote {path}, {path.stat().st_size / 1e6:,.1f} MB: any browser opens it, and it asks nobody for anything"
        )
        return 0
    _serve(seen, live, arguments)
    return 0


def _opened(arguments: argparse.Namespace) -> "tuple[Seen, Live]":
    from edgewise.records import open_record
    from edgewise.views import Seen

    if arguments.target is None and arguments.tiny is None and _reads_nothing(arguments):
        from edgewise.cli.live_shipped import ShippedLive
        from edgewise.samples import shipped

        return Seen(open_record(shipped() / "trace.edgewise")), ShippedLive()
    if arguments.target is not None and Path(arguments.target).suffix == ".edgewise":
        from edgewise.cli.live_record import RecordLive

        return Seen(open_record(arguments.target)), RecordLive()
    from edgewise.cli.live import ModelLive
    from edgewise.cli.live_training import Training

    if arguments.target is None and arguments.tiny is None:
        from edgewise.samples import shipped

        arguments.target = str(shipped())
    print("loading the model", file=sys.stderr)
    live = ModelLive(named(arguments), Training())
    return live.first(given(arguments)), live


def _beside(arguments: argparse.Namespace) -> "Seen | None":
    """Return what stands beside it: a record, or a model on the same text."""
    if arguments.beside is None:
        return None
    other = argparse.Namespace(**{**vars(arguments), "target": arguments.beside, "tiny": None})
    return _opened(other)[0]


def _reads_nothing(arguments: argparse.Namespace) -> bool:
    names = ("text", "text_file", "prompt", "ids", "inputs", "image", "audio", "generate")
    return all(getattr(arguments, name) is None for name in names)


def _serve(seen: "Seen", live: "Live", arguments: argparse.Namespace) -> None:
    from edgewise.views.html import bundle
    from edgewise.views.server import Page
    from edgewise.views.serving import Serving

    bundle()
    serving = Serving(Page(seen, live, other=_beside(arguments)), arguments.port)

    def ready(address: str) -> None:
        print(f"edgewise view: {address}\nCtrl-C ends it", flush=True)
        if not arguments.no_open:
            webbrowser.open(address)

    serving.run(ready)


VIEW = Command("view", "see every edge, and the arithmetic of any cell", DESCRIPTION, _add_arguments, _run)
