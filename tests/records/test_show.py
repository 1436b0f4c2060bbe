"""What people see of a record in the terminal."""

from typing import Any

import numpy as np
import torch

from edgewise.graphs import causal, keys, window
from edgewise.records import Array, Call, Kept, Proof, Record, Site, show


def named(call: Call, name: str, layer: int | None, **more: Any) -> Call:
    site = Site(name, layer, more.pop("kind", "self"), call.site.heads, call.site.groups, call.site.width)
    return Call(**{**vars(call), "site": site, **more})


def test_equal_layers_are_one_line(make: Any) -> None:
    causal_, near = make.call(graph=causal(), batch=1), make.call(graph=window(4), batch=1, dtype=torch.bfloat16)
    calls = [named(near if n % 2 else causal_, f"model.layers.{n}.attn", n, residual=n * 1e-8) for n in range(6)]
    record = Record(calls, (("The", " cat"),), target="my model", proof=Proof(True, 0.0, 0.0, 1234))
    assert show(record) == (
        "my model\n"
        "tokens   2: 'The cat'\n"
        "site                        kind  heads × width  calls  query × key  graph      dtype     size    residual\n"
        "model.layers.0,2,4.attn ×3  self  4 on 2 × 3     1      5 × 7        causal()   float32   2.9 kB  4.0e-08\n"
        "model.layers.1,3,5.attn ×3  self  4 on 2 × 3     1      5 × 7        window(4)  bfloat16  1.4 kB  5.0e-08\n"
        "6 sites, 6 calls, 4.3 kB; caught by made up\n"
        "looking: 1,234 output numbers equal an untouched run's, bit for bit"
    )


def test_steps_dense_edges_extras_and_what_was_kept_are_told(make: Any) -> None:
    call = make.call(graph=torch.rand(2, 1, 5, 7) > 0.5, sinks=True, bias=torch.randn(1, 4, 5, 7), soft_cap=30.0)
    kept = make.call(graph=causal() & keys([0, 1, 1, 1, 1, 1, 1]))
    some = {name: Array.of(getattr(kept, name).bits[:, [0, 1, 2]][:, :, [4]]) for name in ("query", "out")}
    kept = Call(**{**vars(kept), **some, "kept": Kept((0, 1, 2), (4,), 5)})
    steps = [make.call(query=1, key=n, graph=causal()) for n in (7, 8)]
    calls = [
        named(call, "decoder.cross", None, kind="cross", dropout=0.1), named(kept, "b", None),
        *(named(step, "c", None, index=n) for n, step in enumerate(steps)),
    ]  # fmt: skip
    text = show(Record(calls, tuple(("a" * 99,) for _ in range(5))))
    for part in (
        "tokens   1 + 1 + 1 + 1 + …: 'aaaaaa", "cross", "dense", "bias, sinks, soft cap 30, dropout 0.1", ", batch 2",
        "causal() & keys(…)", "kept 0…2", "5 × 7 (1 rows kept)", "1 × 7…8", "not compared with an untouched run",
    ):  # fmt: skip
        assert part in text, part


def test_a_proof_reads_as_a_sentence() -> None:
    assert str(Proof(True, 1e-7, 2e-7, 5)) == (
        "5 output numbers differ from an untouched run's by at most 1.0e-07; two untouched runs differ by 2.0e-07"
    )
    assert str(Proof(True, 1e-7, outputs=5)).endswith("by at most 1.0e-07; noise not measured")
    assert Proof(True, 0.0).exact
    assert not Proof().exact


def test_a_record_of_halves_of_characters_can_be_shown() -> None:
    assert "tokens   1: '?'" in show(Record([], (("\ud83d",),)))


def test_sizes_are_readable(make: Any) -> None:
    big = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1, 1, 1000, 1000), (0, 0, 0, 0))
    array = Array.of(big)
    call = Call(Site("a", 0, "self", 1, 1, 1000), 0, "x", array, array, array, array, 1.0)
    assert "16.0 MB" in show(Record([call]))
