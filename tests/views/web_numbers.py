"""Calls of every kind, packed, and their numbers by `edgewise.records`: what the page's own arithmetic is held to.

`python tests/views/web_numbers.py` writes web/tests/numbers.json again.
"""

import base64
import json
from pathlib import Path

import numpy as np

from edgewise.graphs import causal, window
from edgewise.records import Array, Call, Record, Site, cell, overview, row
from edgewise.views import Packing, scene

PATH = Path(__file__).parents[2] / "web" / "tests" / "numbers.json"


def calls():
    """Calls whose numbers are halves, so that packing changes nothing."""
    random = np.random.default_rng(7)

    def array(*shape):
        return Array.of(random.standard_normal(shape).astype(np.float16).astype(np.float32))

    def call(name, rows=9, keys=11, heads=4, groups=2, **how):
        site = Site(name, 0, "self", heads, groups, 6)
        query, key, value = array(2, heads, rows, 6), array(2, groups, keys, 6), array(2, groups, keys, 5)
        return Call(site, 0, "x", query, key, value, array(2, heads, rows, 5), 6**-0.5, **how)

    some = random.random((2, 4, 9, 11)) < 0.6
    some[0, 1, 3] = False
    return (
        call("causal", graph=causal()),
        call("all"),
        call("window", graph=window(3), soft_cap=1.5),
        call("dense", allowed=Array.of(some), bias=array(1, 4, 9, 11)),
        call("row bias", bias=array(1, 4, 1, 11), sinks=Array.of(np.float32([0.5, -1, 2, 0]))),
        call("hidden", allowed=Array.of(some[:, :1]), hidden=-2.0),
        call("every second", keys=64, allowed=Array.of((np.arange(64) % 2 == 0)[None, None, None].repeat(9, 2))),
    )


def numbers():
    """What is packed, and what is expected of it."""
    made = calls()
    packing = Packing(made)
    expected = []
    for call in made:
        for batch, head in ((0, 1), (1, 3)):
            at = {"site": call.site.name, "call": 0, "batch": batch, "head": head}
            rows = {
                stage: _said(row(call, batch, head, 3, stage, precision="float64"))
                for stage in ("raw", "scaled", "masked", "weights")
            }
            picture = overview(call, head, shape=(4, 4), batch=batch)
            arithmetic = {
                name: _said(value) if isinstance(value, np.ndarray) else value
                for name, value in vars(cell(call, batch, head, 3, 2)).items()
            }
            tile = {
                "shape": list(picture.max.shape),
                "step": list(picture.step),
                "edges": picture.edges.ravel().tolist(),
            }
            tile |= {name: _said(getattr(picture, name)) for name in ("max", "mean")}
            expected.append({"where": at, "rows": rows, "tile": tile, "cell": arithmetic})
    return {
        "scene": scene(Record(made, made={"date": "2026-11-29"})),
        "packed": packing.index,
        "bytes": base64.b64encode(packing.bytes()).decode(),
        "expected": expected,
    }


def _said(array):
    return [float(f"{one:.9g}") if np.isfinite(one) else str(one) for one in array.ravel().tolist()]


def text():
    """The file."""
    return json.dumps(numbers(), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
