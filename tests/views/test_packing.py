import numpy as np
import pytest

from edgewise.graphs import causal, documents, window
from edgewise.records import Array, Call
from edgewise.views import Packing


def read(packing, place):
    raw, dtype = packing.bytes(), np.dtype(place["dtype"]).newbyteorder("<")
    count = int(np.prod(place["shape"]))
    return np.frombuffer(raw, dtype, count, place["at"]).reshape(place["shape"])


def cells(packing, edges, rows, keys):
    """The edges as booleans, (batch, heads, rows, keys)."""
    if edges is None:
        return np.ones((1, 1, rows, keys), bool)
    if edges["kind"] == "cells":
        return read(packing, edges).astype(bool)
    start, stop = (read(packing, edges[name])[..., None] for name in ("start", "stop"))
    at = np.arange(keys)
    return ((at >= start) & (at < stop)).any(2)


def test_numbers_are_packed_as_their_nearest_half(calls):
    packing = Packing(calls)
    found = read(packing, packing.index[1]["key"])
    np.testing.assert_array_equal(found, calls[1].key.float32().astype(np.float16))


def test_numbers_that_half_cannot_hold_stay_single(calls):
    one = calls[0]
    wide = one.key.float32() * 1e6
    big = Call(one.site, 0, "x", one.query, Array.of(wide), one.value, one.out, one.scale)
    packing = Packing((big,))
    assert packing.index[0]["key"]["dtype"] == "float32"
    np.testing.assert_array_equal(read(packing, packing.index[0]["key"]), wide)


@pytest.mark.parametrize("graph", [causal(), window(3), window(2, ahead=2), documents([0] * 5 + [1] * 7) & causal()])
def test_edges_are_packed_as_runs(calls, graph):
    one = calls[0]
    packing = Packing((Call(one.site, 0, "x", one.query, one.key, one.value, one.out, 1.0, graph=graph),))
    found = cells(packing, packing.index[0]["edges"], 12, 12)
    np.testing.assert_array_equal(found[0, 0], graph.dense(12, 12))


@pytest.mark.parametrize("density", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("shape", [(1, 1, 12, 12), (1, 4, 12, 12)])
def test_any_mask_survives_packing(calls, density, shape):
    one = calls[0]
    allowed = np.random.default_rng(1).random(shape) < density
    held = Call(one.site, 0, "x", one.query, one.key, one.value, one.out, 1.0, allowed=Array.of(allowed))
    packing = Packing((held,))
    np.testing.assert_array_equal(cells(packing, packing.index[0]["edges"], 12, 12), allowed)


def test_many_single_cells_are_packed_as_cells(calls):
    one = calls[0]
    site = one.site
    every_second = (np.arange(64) % 2 == 0)[None, None, None].repeat(12, 2)
    key = Array.of(np.ones((1, 2, 64, 8), np.float32))
    held = Call(site, 0, "x", one.query, key, key, one.out, 1.0, allowed=Array.of(every_second))
    packing = Packing((held,))
    assert packing.index[0]["edges"]["kind"] == "cells"
    np.testing.assert_array_equal(cells(packing, packing.index[0]["edges"], 12, 64), every_second)
