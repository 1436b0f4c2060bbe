"""The scene: what is drawn of a record, as JSON values, the same for page, notebook, file and terminal."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from edgewise.records import Call, Record, Site
from edgewise.views.doing import doing
from edgewise.views.live import NONE, Can, Output

__all__ = ["SCENE", "scene"]

SCENE = 1
"""Version of the scene's form; web/src/scene.ts describes it."""


def scene(record: Record, can: Can = NONE, output: Output | None = None) -> dict[str, Any]:
    """What a page shows of a record before it asks for any number of a matrix.

    Args:
        record: the run.
        can: what else the page can do.
        output: what the model said, where it is known.
    """
    from edgewise import __version__

    return {
        "scene": SCENE,
        "made": {"edgewise": __version__, "date": str(record.made.get("date") or _now())},
        "target": record.target or "a model",
        "proof": str(record.proof) if record.proof.checked else "",
        "tokens": None if record.tokens is None else [list(one) for one in record.tokens],
        "source": None if record.source is None else [list(one) for one in record.source],
        "sites": [_site(record, site) for site in record.sites],
        "live": asdict(can),
        "output": None if output is None else _output(output),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _output(output: Output) -> dict[str, Any]:
    return {
        "next": [{"token": token, "probability": probability} for token, probability in output.next],
        "loss": output.loss,
    }


def _site(record: Record, site: Site) -> dict[str, Any]:
    calls = record.of(site)
    widest = max(calls, key=lambda call: (call.rows, call.keys))
    return {
        "name": site.name,
        "layer": site.layer,
        "kind": site.kind,
        "heads": site.heads,
        "groups": site.groups,
        "width": site.width,
        "calls": [_call(call) for call in calls],
        "doing": [one._asdict() for one in doing(record, widest)],
    }


def _call(call: Call) -> dict[str, Any]:
    graph = "" if call.allowed is not None else "full()" if call.graph is None else repr(call.graph)
    return {
        "index": call.index,
        "route": call.route,
        "batch": call.batch,
        "rows": call.rows,
        "keys": call.keys,
        "first": call.position,
        "graph": graph if len(graph) <= 200 else "",
        "scale": call.scale,
        "softCap": call.soft_cap,
        "bias": call.bias is not None,
        "sinks": call.sinks is not None,
        "dtype": call.dtype,
        "keptHeads": None if call.kept.heads is None else list(call.kept.heads),
        "note": call.note,
    }
