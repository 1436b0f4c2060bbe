"""What does not fit together is refused where a call is made, in words."""

import re
from typing import Any

import numpy as np
import pytest

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import causal, keys
from edgewise.records import Array, Call, Kept, Record, Site, bfloat16_bits


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    return Array.of(np.zeros(shape, dtype))


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"query": zeros(4, 5, 3)}, ShapeError, "query must be (batch, heads, query, width); got (4, 5, 3)"),
        (
            {"key": zeros(2, 3, 7, 3)},
            ShapeError,
            "key must be (batch=2, groups=2, key=7, width=3); got (2, 3, 7, 3)",
        ),
        ({"out": zeros(2, 4, 7, 4)}, ShapeError, "out must be (batch=2, heads=4, query=5, width=4); got (2, 4, 7, 4)"),
        (
            {"bias": zeros(1, 4, 7, 5)},
            ShapeError,
            "bias must be (batch=2 or 1, heads=4 or 1, query=5 or 1, key=7 or 1); got (1, 4, 7, 5)",
        ),
        ({"sinks": zeros(2)}, ShapeError, "sinks must be (heads=4,); got (2,)"),
        (
            {"allowed": zeros(1, 1, 5, 7, dtype=bool), "graph": causal()},
            ArgumentError,
            "edges are said by a graph or by allowed, not by both",
        ),
        ({"allowed": zeros(1, 1, 5, 7)}, ArgumentError, "allowed must be bool, True = may attend; got float32"),
        ({"value": zeros(2, 2, 7, 4, dtype=bool)}, ArgumentError, "value must be floating point; got bool"),
        ({"scale": np.inf}, ArgumentError, "scale must be a finite number; got inf"),
        ({"soft_cap": 0.0}, ArgumentError, "soft_cap must be a positive number; got 0.0"),
        (
            {"graph": keys([[1] * 7] * 3)},
            ShapeError,
            "keys([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]]) is made for 3 sequences; "
            "got batch=2",
        ),
        (
            {"kept": Kept(rows=(0, 1), of_rows=9)},
            ShapeError,
            "query must hold the 2 rows that are kept; it holds 5",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(make: Any, changed: dict[str, Any], error: type, says: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(f'{says} (layers.0.attention, call 0)')}$"):
        Call(**{**vars(make.call()), **changed})


def test_heads_that_do_not_share_keys_evenly_are_refused(make: Any) -> None:
    with pytest.raises(ShapeError, match=r"^heads must be a multiple of groups; got 4 and 3 \(a\)$"):
        Call(**{**vars(make.call()), "site": Site("a", 0, "self", 4, 3, 3)})


def test_a_graph_for_another_number_of_keys_is_refused(make: Any) -> None:
    with pytest.raises(ShapeError, match=r"^keys\(\[1, 1\]\) is made for 2 keys; asked for key=7"):
        Call(**{**vars(make.call()), "graph": keys([1, 1])})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"heads": (2, 1)}, "heads that are kept must be rising numbers from 0, at least one; got (2, 1)"),
        ({"rows": ()}, "rows that are kept must be rising numbers from 0, at least one; got ()"),
        ({"rows": (3,)}, "rows that are kept must be below of_rows=0, the queries of the call; got 3"),
    ],
)
def test_what_cannot_be_kept_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{re.escape(says)}$"):
        Kept(**given)


def test_an_array_refuses_what_it_cannot_hold() -> None:
    wanted = "an array holds bool, float16, bfloat16, float32, float64, int32, bfloat16 as the uint16 of its bits; got "
    for given, says in (
        ((np.zeros(2, np.int64),), "int64 for int64: convert it first"),
        ((np.zeros(2, np.float32), "bfloat16"), "float32 for bfloat16: convert it first"),
    ):
        with pytest.raises(ArgumentError, match=f"^{re.escape(wanted + says)}$"):
            Array.of(*given)


def test_nobody_can_write_into_an_array() -> None:
    with pytest.raises(ValueError, match="read-only"):
        zeros(2).bits[0] = 1


def test_bfloat16_is_rounded_as_torch_rounds_it() -> None:
    import torch

    numbers = torch.cat(
        [torch.randn(2000) * 10.0 ** torch.randint(-40, 38, (2000,)), torch.tensor([0.0, -0.0, torch.inf])]
    )
    wanted = numbers.bfloat16().view(torch.uint16).numpy()
    np.testing.assert_array_equal(bfloat16_bits(numbers.numpy()), wanted)
    assert np.isnan(Array.of(bfloat16_bits(np.array([np.nan])), "bfloat16").float32()).all()


def test_sites_and_calls_are_found_by_name(make: Any) -> None:
    call = make.call()
    calls = [
        Call(**{**vars(call), "site": Site(name, 0, "self", 4, 2, 3), "index": n}) for n in (0, 1) for name in "ab"
    ]
    record = Record(calls)
    assert [site.name for site in record.sites] == ["a", "b"]
    assert record.call("b", 1) is calls[3]
    assert record.call(record.sites[0], -1) is calls[2]
    assert record.of("a") == (calls[0], calls[2])
    assert len(record.heads()) == 8
    assert record.calls[1:3] == (calls[1], calls[2])
    for wrong, says in (
        (lambda: record.call("c"), "wanted a site of the record; got 'c'; it has a, b"),
        (lambda: record.call("a", 2), "a has calls 0 to 1; got index 2"),
        (lambda: Record([]).of("a"), "wanted a site of the record; got 'a'; it has none"),
    ):
        with pytest.raises(ArgumentError, match=f"^{re.escape(says)}$"):
            wrong()


def test_records_are_read_without_torch() -> None:
    import subprocess
    import sys

    code = "import edgewise.records, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
