"""`edgewise check`: is this model's attention what it was meant to be?"""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.cli.command import Command
from edgewise.cli.named import add_target, named
from edgewise.cli.telling import telling
from edgewise.errors import ArgumentError

if TYPE_CHECKING:
    from edgewise.checks import Report

__all__ = ["CHECK"]

DESCRIPTION = """\
Look at every property of attention on every way through a model's code: who reads whom, what masks mean, whether
padding, other rows or other documents are felt, scale, heads, positions, and whether all ways give the same.

  edgewise check my_model.py:build --graph 'window(128)'   a module, a factory of one, or a function of (q, k, v)
  edgewise check ./SmolLM2-135M                            a hub name or a folder, as edgewise trace takes them
  edgewise check --tiny roformer                           any architecture, small and random, nothing fetched
  edgewise check --tiny all --json > zoo.json              all of them, in parallel; it goes on where it was cut off
  edgewise check --explain padding-leak                    what a property says, and an example of it broken

What is declared is held against what is measured; what nobody declares is read from the config, or else inferred and
told. Exit 0: holds. Exit 1: a property fails. Exit 2: a mistake on the line, or nothing could be told.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    meant = parser.add_argument_group("what is meant").add_argument
    meant("--graph", metavar="GRAPH", help="who may read whom: 'causal()', 'window(4)', 'causal() & chunks(64)' …")
    meant("--window-excludes-self", action="store_true", help="the n keys of window(n) do not count the query's own")
    meant("--scale", type=float, metavar="X", help="what scores are multiplied by (default: 1/√width)")
    meant("--pads-attended", action="store_true", help="padding is read by design")
    meant("--sinks", action="store_true", help="weights may sum to less than one by design")
    order = parser.add_mutually_exclusive_group().add_argument
    order("--positions", action="store_const", const=True, help="the order of tokens matters by design")
    order("--no-positions", dest="positions", action="store_const", const=False, help="it does not, by design")
    meant("--pad", type=int, metavar="ID", help="the id of padding")
    meant("--layout", choices=("batch first", "time first"), help="which axis of the input comes first")
    look = parser.add_argument_group("what is looked at").add_argument
    look("--only", action="append", metavar="PROPERTY", help="this property (may be given again)")
    look("--skip", action="append", metavar="PROPERTY", default=[], help="not this one (may be given again)")
    look("--length", type=int, default=8, metavar="N", help="tokens of an input (default: 8)")
    look("--budget", type=float, metavar="SECONDS", help="stop after so long, and tell what was not reached")
    look("--explain", metavar="PROPERTY", help="print what a property says, and nothing else")
    known = parser.add_argument_group("what is known and not counted").add_argument
    known("--allow", action="append", metavar="PROPERTY=REASON", default=[], help="may fail, for this reason")
    known("--baseline", metavar="FILE", help="failures in this file are known")
    known("--write-baseline", metavar="FILE", help="write the failures of this run to a file, and exit 0")
    out = parser.add_argument_group("what is written").add_argument
    out("--json", action="store_true", help="print one JSON object and nothing else")
    out("--junit", metavar="PATH", help="write JUnit's XML")
    out("--html", metavar="PATH", help="write one HTML file that needs nothing else")
    sweep = parser.add_argument_group("with --tiny all").add_argument
    sweep("--workers", type=int, metavar="N", help="processes (default: as many as cores)")
    sweep("--resume", metavar="PATH", help="where rows are kept as they come (default: zoo-check.json)")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.explain is not None:
        return _explain(arguments)
    if arguments.tiny == "all":
        from edgewise.cli.sweep import sweep

        return sweep(arguments)
    for path in (arguments.junit, arguments.html, arguments.write_baseline):
        if path is not None and not Path(path).expanduser().resolve().parent.is_dir():
            raise ArgumentError(f"wanted a place for {Path(path).name}; there is no folder {Path(path).parent}")
    reports = _reports(arguments)
    if arguments.write_baseline is not None:
        return _keep(reports, arguments.write_baseline)
    _write(reports, arguments)
    return _exit(reports)


def _reports(arguments: argparse.Namespace) -> "list[Report]":
    """Return a report of each model that is named: a tiny type has one for each task that it is made for."""
    from edgewise.checks import check, chosen

    how = options(arguments)
    chosen(how["only"], how["skip"])  # a wrong name is told before anything is loaded
    reports: list[Report] = []
    # What a target's code prints goes where it is no part of what is printed here.
    with telling() as tell, contextlib.redirect_stdout(sys.stderr):
        for one in _each(arguments):
            tell("loading the model")
            target = named(one, called=False)

            def told(name: str, done: int, many: int, whose: str = target.name) -> None:
                tell(f"{whose}: {name}", done, many, "properties")

            reports.append(check(target, tell=told, **how))
    return reports


def _each(arguments: argparse.Namespace) -> list[argparse.Namespace]:
    """Return the arguments once for each task of a tiny type, or for the one that is named: --tiny TYPE:TASK."""
    if arguments.tiny is None or ":" in arguments.tiny or arguments.target is not None:
        return [arguments]
    from edgewise.tracing.tiny import tasks

    several = tasks(arguments.tiny)
    names = [f"{arguments.tiny}:{task}" for task in several] if len(several) > 1 else [arguments.tiny]
    return [argparse.Namespace(**{**vars(arguments), "tiny": name}) for name in names]


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the arguments say, as `edgewise.check` takes it.

    Raises:
        EdgewiseError: a reason is missing, or a baseline is none.
    """
    from edgewise.checks import Baseline

    baseline: Baseline | None = None if arguments.baseline is None else Baseline.read(arguments.baseline)
    told = {} if arguments.layout is None else {"layout": arguments.layout}
    return {
        "graph": arguments.graph,
        "window_counts_self": not arguments.window_excludes_self,
        "scale": arguments.scale,
        "pads_attended": arguments.pads_attended,
        "sinks": arguments.sinks,
        "positions": arguments.positions,
        "pad": arguments.pad,
        "allow": dict(map(_allowed, arguments.allow)),
        "only": arguments.only,
        "skip": arguments.skip,
        "baseline": baseline,
        "seed": arguments.seed,
        "length": arguments.length,
        "budget": arguments.budget,
        **told,
    }


def _allowed(said: str) -> tuple[str, str]:
    name, _, why = said.partition("=")
    if not why.strip():
        raise ArgumentError(f"--allow wants a reason, like --allow {name}='known since 2.1, see #12'; got {said!r}")
    return name.strip(), why.strip()


def _explain(arguments: argparse.Namespace) -> int:
    from edgewise.checks import chosen, explained

    (one,) = chosen([arguments.explain])
    print(explained(one))
    return 0


def _keep(reports: "list[Report]", path: str) -> int:
    from edgewise.checks import Baseline

    baseline = Baseline.of(*reports)
    baseline.write(path)
    many = len(baseline.known)
    print(f"wrote {path}: {many} known fault{'s' * (many != 1)}; check against it with --baseline {path}")
    return 0


def _write(reports: "list[Report]", arguments: argparse.Namespace) -> None:
    from edgewise.checks import as_json, junit, page

    worst_first = sorted(reports, key=lambda one: (0, 2, 1)[one.exit_status], reverse=True)
    if arguments.junit is not None:
        Path(arguments.junit).expanduser().write_text(junit(*reports), encoding="utf-8")
    if arguments.html is not None:
        Path(arguments.html).expanduser().write_text(page(*reports), encoding="utf-8")
    if arguments.json:
        print(as_json(*worst_first))
        return
    _print(worst_first)


def _print(reports: "list[Report]") -> None:
    """Print the worst report whole, and the others too if they fail; else each as a line."""
    from rich.console import Console

    from edgewise.checks import painted

    console = Console(soft_wrap=True, highlight=False)
    for place, one in enumerate(reports):
        if place == 0 or one.exit_status:
            console.print(painted(one))
        else:
            console.print(f"{one.target}: {one.verdict}", markup=False)


def _exit(reports: "list[Report]") -> int:
    statuses = [one.exit_status for one in reports]
    return 1 if 1 in statuses else max(statuses)


CHECK = Command("check", "find out whether attention is what it was meant to be", DESCRIPTION, _add_arguments, _run)
