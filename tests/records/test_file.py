"""A record comes back from its file as it was, bit for bit."""

import json
import zipfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.torch import load

from edgewise.errors import ArgumentError, RunError
from edgewise.graphs import causal, chunks, documents, full, keys, prefix, window
from edgewise.records import Array, Call, Kept, Proof, Record, Site, Writer, open_record, row, save

PLAIN = [
    one.name for one in fields(Call) if one.name not in ("query", "key", "value", "out", "allowed", "bias", "sinks")
]


def same_call(one: Call, other: Call) -> None:
    for name in PLAIN:
        assert repr(getattr(one, name)) == repr(getattr(other, name)), name
    assert one.graph == other.graph
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        found = other.arrays[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.ascontiguousarray(found.bits).tobytes() == np.ascontiguousarray(array.bits).tobytes(), name


def same(one: Record, other: Record) -> None:
    assert one.sites == other.sites
    assert (one.tokens, one.source, one.target) == (other.tokens, other.source, other.target)
    assert (dict(one.made), dict(one.inputs)) == (dict(other.made), dict(other.inputs))
    assert repr(one.proof) == repr(other.proof)
    assert len(one.calls) == len(other.calls)
    for mine, theirs in zip(one.calls, other.calls, strict=True):
        same_call(mine, theirs)


def there_and_back(record: Record, folder: Path) -> Record:
    path = folder / "a.edgewise"
    save(record, path)
    return open_record(path)


GRAPHS = [None, full(), causal(), window(3, ahead=1), prefix(2) | ~chunks(2), keys([1, 0] * 3 + [1])]


@given(data=st.data())
def test_numbers_of_every_dtype_come_back_bit_for_bit(tmp_path_factory: Any, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
    bits = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}[dtype]

    def some(*shape: int) -> Array:
        # Any bits at all: NaN with a message in it, infinities, −0, numbers below the normal ones.
        drawn = data.draw(arrays(bits, shape))
        return Array.of(drawn, "bfloat16") if dtype == "bfloat16" else Array.of(drawn.view(dtype))

    optional = lambda one: data.draw(st.sampled_from([None, one]))  # noqa: E731
    call = Call(
        Site("a.b", data.draw(st.sampled_from([None, 3])), data.draw(st.sampled_from(["self", "cross"])), 4, 2, 3),
        data.draw(st.integers(0, 5)),
        data.draw(st.text()),
        *(some(2, 4, 5, 3), some(2, 2, 7, 3), some(2, 2, 7, 2), some(2, 4, 5, 2)),
        data.draw(st.floats(allow_nan=False, allow_infinity=False)),
        graph=data.draw(st.sampled_from(GRAPHS)),
        bias=optional(some(1, 4, 1, 7)),
        soft_cap=optional(30.0),
        sinks=optional(some(4)),
        dropout=0.1,
        cached=2,
        first=optional(9),
        residual=data.draw(st.floats()),
        hidden=data.draw(st.floats()),
        note=data.draw(st.text()),
    )
    text = st.lists(st.text(st.characters(exclude_categories=[])), max_size=3).map(tuple)
    tokens = st.one_of(st.none(), st.lists(text, max_size=2).map(tuple))
    record = Record(
        [call],
        data.draw(tokens),
        data.draw(tokens),
        data.draw(st.text()),
        Proof(True, data.draw(st.floats()), 0.0, 3),
        {"edgewise": "0"},
        {"text": data.draw(st.text()), "numbers": [1, 2.5, None]},
    )
    same(record, there_and_back(record, tmp_path_factory.mktemp("file")))


def test_a_token_that_is_half_a_character_comes_back(make: Any, tmp_path: Path) -> None:
    record = Record([], (("\ud83d", "\x00", "漢", '"', "\u2028"),))
    same(record, there_and_back(record, tmp_path))


@pytest.mark.parametrize(
    "graph",
    [
        documents(np.arange(700) // 7),
        causal() & documents(np.random.default_rng(0).integers(0, 9, (2, 700))),
        ~(window(3) | keys(np.random.default_rng(0).integers(0, 2, (2, 700)))) & causal(),
        causal() & keys([0] * 350 + [1] * 350),
    ],
)
def test_graphs_of_any_size_come_back_as_the_values_they_were(make: Any, tmp_path: Path, graph: Any) -> None:
    call = make.call(heads=1, groups=1, query=700, key=700, graph=graph)
    found = there_and_back(Record([call, call]), tmp_path)
    assert found.calls[0].graph == graph
    assert found.calls[0].graph is found.calls[1].graph
    same_call(call, found.calls[1])


def test_dense_edges_and_kept_heads_and_rows_come_back(make: Any, tmp_path: Path) -> None:
    whole = make.call(graph=torch.rand(2, 4, 5, 7) > 0.5)
    some = {name: Array.of(getattr(whole, name).bits[:, [1, 3]][:, :, [0, 4]]) for name in ("query", "out", "allowed")}
    call = Call(**{**vars(whole), **some, "kept": Kept((1, 3), (0, 4), 5)})
    found = there_and_back(Record([whole, call]), tmp_path)
    same_call(whole, found.calls[0])
    same_call(call, found.calls[1])
    with pytest.raises(ArgumentError, match=r"^head 0 of layers\.0\.attention was not kept"):
        row(found.calls[1], 0, 0, 0)


def generated(make: Any, steps: int, cross: bool = False) -> Record:
    """Prefill and steps of one site; each step sees the keys of the one before and one more."""
    drawn = np.random.default_rng(0).standard_normal((2, 1, 2, 6 + steps, 3), dtype=np.float32)
    calls = []
    for index in range(steps + 1):
        length, queries = 6 + index, 1 if index else 6
        call = make.call(batch=1, query=queries, key=length, channels=3, graph=causal(), seed=index)
        seen = {name: Array.of(drawn[i, :, :, :length]) for i, name in enumerate(("key", "value"))}
        calls.append(Call(**{**vars(call), **seen, "index": index, "cached": length - queries}))
    return Record(calls)


def test_keys_of_cached_steps_are_written_once_and_read_whole(make: Any, tmp_path: Path) -> None:
    record = generated(make, 40)
    same(record, there_and_back(record, tmp_path))
    with zipfile.ZipFile(tmp_path / "a.edgewise") as file:
        last = load(file.read("calls/00040.safetensors"))
    assert last["key"].shape == (1, 2, 1, 3)
    found = open_record(tmp_path / "a.edgewise").call("layers.0.attention", -1)
    np.testing.assert_array_equal(found.key.at(0, 1), record.calls[-1].key.bits[0, 1])
    np.testing.assert_array_equal(found.key.at(0), record.calls[-1].key.bits[0])


def test_keys_that_a_cache_has_rewritten_are_written_again(make: Any, tmp_path: Path) -> None:
    record = generated(make, 4)
    calls = list(record.calls)
    bits = calls[3].key.bits.copy()
    bits[0, 1, 2, 0] += 1
    calls[3] = Call(**{**vars(calls[3]), "key": Array.of(bits)})
    same(Record(calls), there_and_back(Record(calls), tmp_path))


def test_steps_of_another_text_at_the_same_site_are_not_mixed_up(make: Any, tmp_path: Path) -> None:
    calls = [*generated(make, 3).calls, *generated(make, 3).calls[:2], make.call(), make.call(dtype=torch.float64)]
    same(Record(calls), there_and_back(Record(calls), tmp_path))


def test_a_mask_that_layers_share_is_written_once(make: Any, tmp_path: Path) -> None:
    sites = [Site(f"layers.{n}", n, "self", 4, 2, 3) for n in range(3)]
    edges, bias = torch.rand(1, 1, 5, 7) > 0.5, torch.randn(1, 4, 5, 7)
    calls = [make.call(graph=edges, bias=bias, site=site, seed=site.layer) for site in sites]
    same(Record(calls), there_and_back(Record(calls), tmp_path))
    with zipfile.ZipFile(tmp_path / "a.edgewise") as file:
        names = [sorted(load(file.read(f"calls/0000{n}.safetensors"))) for n in range(3)]
    assert names == [["allowed", "bias", "key", "out", "query", "value"], *[["key", "out", "query", "value"]] * 2]


def test_the_library_of_the_format_reads_every_member(make: Any, tmp_path: Path) -> None:
    call = make.pair(dtype=torch.bfloat16)
    save(Record([call.call]), tmp_path / "a.edgewise")
    with zipfile.ZipFile(tmp_path / "a.edgewise") as file:
        assert file.testzip() is None
        member = file.read("calls/00000.safetensors")
        about = json.loads(file.read("record.json"))
    read = load(member)
    torch.testing.assert_close(read["out"], call.stages.out, rtol=0, atol=0)
    assert {name for name, _ in safetensors.deserialize(member)} == {"query", "key", "value", "out"}
    assert about["sites"] == [asdict(call.call.site)]


def test_arrays_lie_in_the_file_where_any_processor_reads_them(make: Any, tmp_path: Path) -> None:
    found = there_and_back(Record([make.call(), make.call(dtype=torch.float16)]), tmp_path)
    for call in found.calls:
        assert call.query.bits.flags.aligned
        assert not call.query.bits.flags.writeable
    assert found.calls[0].query.bits.ctypes.data % 64 == 0


def test_a_file_of_thousands_of_calls_opens(make: Any, tmp_path: Path) -> None:
    call = make.call(batch=1, heads=1, groups=1, query=1, key=1)
    with Writer(tmp_path / "a.edgewise") as writer:
        for index in range(3000):
            writer.add(Call(**{**vars(call), "index": index}))
    found = open_record(tmp_path / "a.edgewise")
    assert len(found.calls) == 3000
    assert found.call("layers.0.attention", 2999).index == 2999


def test_looking_at_one_head_reads_no_other(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edgewise.records import members

    found = there_and_back(Record([make.call(batch=3, heads=6, groups=3)]), tmp_path).calls[0]
    sums, plain = [], members.checksum
    monkeypatch.setattr(members, "checksum", lambda bits: sums.append(bits.shape) or plain(bits))
    found.query.at(2, 5)
    found.query.at(2, 5)
    assert sums == [(5, 3)]
    found.key.at(1)
    assert len(sums) == 4


def test_nothing_stands_under_the_name_before_the_record_is_whole(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.edgewise"
    with Writer(path) as writer:
        writer.add(make.call())
        assert not path.exists()
    assert [one.name for one in tmp_path.iterdir()] == ["a.edgewise"]


def test_an_error_or_ctrl_c_leaves_what_was_there_before(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.edgewise"
    save(Record([make.call()], target="old"), path)

    def interrupted() -> None:
        with Writer(path) as writer:
            writer.add(make.call())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert open_record(path).target == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.edgewise"]


def test_what_a_killed_writer_left_is_swept_by_the_next(make: Any, tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "a.edgewise"
    code = "import os, sys\nfrom edgewise.records import Writer\nwriter = Writer(sys.argv[1])\nos.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert [one.name.startswith(".a.edgewise.") for one in tmp_path.iterdir()] == [True]
    save(Record([make.call()]), path)
    assert [one.name for one in tmp_path.iterdir()] == ["a.edgewise"]


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"^the record .*none/a.edgewise cannot be written \(No such file or directory\)$"
    ):
        Writer(tmp_path / "none" / "a.edgewise")


def test_what_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match=r"^inputs must be JSON values: texts, finite numbers, lists, dictionaries \("
    ):
        save(Record([], inputs={"x": object()}), tmp_path / "a.edgewise")
    assert list(tmp_path.iterdir()) == []
