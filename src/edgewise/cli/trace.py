"""`edgewise trace`: a model runs once untouched and once watched, and every call of its attention is kept."""

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.cli.command import Command
from edgewise.cli.looked_on import looked_on
from edgewise.cli.named import add_reading, add_target, given, named, numbers
from edgewise.cli.telling import telling
from edgewise.errors import ArgumentError

if TYPE_CHECKING:
    from edgewise.records import Record

__all__ = ["TRACE"]

DESCRIPTION = """\
Keep what attention saw: queries, keys, values, who may read whom, and what came out.

  edgewise trace --tiny gpt2 --out tiny.edgewise            any architecture, small and random, nothing fetched
  edgewise trace my_model.py:build --ids 5,3,8              a model of your own, from a file
  edgewise trace runs/book-1 --text "The king"              a run of edgewise train
  edgewise trace ./SmolLM2-135M --prompt "Paris is" --generate 8 --out paris.edgewise
  edgewise trace --show paris.edgewise                      what a record holds

The model runs as it is, untouched first and then watched, and both results are compared bit for bit. Each call is
computed again from what was kept; a call that this does not explain is an error.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_reading(parser)
    keep = parser.add_argument_group("what is kept").add_argument
    keep("--out", metavar="X.edgewise", help="write the record to this file, call by call")
    keep("--sites", action="append", metavar="NAME", help="only these: a name, a pattern like '*.self_attn', a layer")
    keep("--heads", metavar="N,N-N", help="only these heads of each site")
    keep("--rows", metavar="N,N-N", help="only these queries of each call")
    keep("--keep", choices=("float32", "bfloat16", "float16"), help="keep numbers in this (default: the model's own)")
    keep("--check", choices=("some", "all", "none"), default="some", help="rows to compute again (default: some)")
    parser.add_argument("--show", metavar="X.edgewise", help="print what a record holds, and nothing else")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.show is not None:
        return _show(arguments)
    from edgewise.tracing import feed, recorded

    with telling() as tell:
        tell("loading the model")
        target = named(arguments)
        reading = given(arguments)
        fed = feed(target, reading)
        began = time.perf_counter()
        record = recorded(target, looked_on(fed, tell), copy=reading.generate > 0, **_kept(arguments))
    seconds = time.perf_counter() - began
    if arguments.json:
        print(json.dumps(_described(record, arguments.out, seconds), ensure_ascii=False, indent=2))
    else:
        print(_summary(record, arguments.out, seconds))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from edgewise.records import open_record

    if arguments.target is not None or arguments.tiny is not None:
        raise ArgumentError(f"--show prints a record that is there; got {arguments.target or arguments.tiny} as well")
    record = open_record(arguments.show)
    print(json.dumps(_described(record, arguments.show), indent=2) if arguments.json else _shown(record))
    return 0


def _kept(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    sites = [int(one) if one.isdigit() else one for one in arguments.sites or ()] or None
    if arguments.out is not None and not Path(arguments.out).expanduser().resolve().parent.is_dir():
        raise ArgumentError(f"wanted a place for the record; there is no folder {Path(arguments.out).parent}")
    return {
        "sites": sites,
        "heads": None if arguments.heads is None else numbers(arguments.heads, "--heads"),
        "rows": None if arguments.rows is None else numbers(arguments.rows, "--rows"),
        "dtype": None if arguments.keep is None else getattr(torch, arguments.keep),
        "check": arguments.check,
        "out": None if arguments.out is None else Path(arguments.out).expanduser(),
    }


def _shown(record: "Record") -> str:
    """Return a record as a table, and what was seen and not understood."""
    from edgewise.records import show

    unexplained = dict(record.inputs.get("unexplained", {}))
    return "\n".join([show(record), *(f"not explained: {site}: {why}" for site, why in unexplained.items())])


def _summary(record: "Record", out: str | None, seconds: float) -> str:
    lines = [_shown(record), f"took {seconds:.1f} s, both runs and the checks"]
    if out is not None:
        size = Path(out).expanduser().stat().st_size
        lines.append(f"wrote {out}, {size / 1e6:,.1f} MB; look again with: edgewise trace --show {out}")
    else:
        lines.append("nothing was written: give --out X.edgewise to keep it")
    return "\n".join(lines)


def _described(record: "Record", out: str | None, seconds: float | None = None) -> dict[str, Any]:
    residuals = [call.residual for call in record.calls if call.residual == call.residual]
    sites = [
        {"name": site.name, "layer": site.layer, "kind": site.kind, "heads": site.heads, "groups": site.groups}
        | {"width": site.width, "calls": [_call(call) for call in record.of(site)]}
        for site in record.sites
    ]
    proof = record.proof
    return {
        "target": record.target,
        "sites": sites,
        "residual": max(residuals, default=None),
        "proof": {"checked": proof.checked, "difference": proof.difference if proof.checked else None}
        | {"outputs": proof.outputs, "says": str(proof)},
        "made": dict(record.made),
        "inputs": dict(record.inputs),
        "file": out,
    } | ({} if seconds is None else {"seconds": round(seconds, 3)})


def _call(call: Any) -> dict[str, Any]:
    graph = "dense" if call.allowed is not None else "full()" if call.graph is None else repr(call.graph)
    residual = call.residual if call.residual == call.residual else None
    return {"rows": call.rows, "keys": call.keys, "batch": call.batch, "graph": graph, "route": call.route} | {
        "dtype": call.dtype,
        "bytes": call.nbytes,
        "residual": residual,
    }


TRACE = Command("trace", "see every call of attention in a model", DESCRIPTION, _add_arguments, _run)
