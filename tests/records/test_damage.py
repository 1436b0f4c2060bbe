"""A file that is damaged, cut off, empty, newer or something else is told in one sentence, or does no harm."""

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgewise.errors import DataError, MissingError
from edgewise.graphs import causal, documents
from edgewise.records import Record, open_record, save


@pytest.fixture
def path(make: Any, tmp_path: Path) -> Path:
    calls = [
        make.call(batch=1, heads=2, groups=1, graph=causal() & documents(np.arange(7) // 2)),
        make.call(batch=1, heads=2, groups=1, graph=documents(np.random.default_rng(0).integers(0, 90, 7)), seed=1),
    ]
    found = tmp_path / "a.edgewise"
    save(Record(calls, (("a", "b"),), target="x"), found)
    return found


def everything(path: Path) -> bytes:
    """All that a file says, as bytes."""
    record = open_record(path)
    said = repr((record.tokens, record.source, record.target, record.proof, record.made, record.inputs)).encode()
    for call in record.calls:
        said += repr((call.site, call.graph, call.scale, call.index, call.kept)).encode()
        said += b"".join(
            name.encode() + np.ascontiguousarray(array.bits).tobytes() for name, array in call.arrays.items()
        )
    return said


def test_a_changed_byte_anywhere_is_told_or_does_no_harm(path: Path) -> None:
    whole, bytes_ = everything(path), path.read_bytes()
    told: list[str] = []
    for place in range(0, len(bytes_), 3):
        changed = bytearray(bytes_)
        changed[place] ^= 0xFF if place % 2 else 0x01
        path.write_bytes(changed)
        try:
            assert everything(path) == whole, f"byte {place}"
        except DataError as error:
            told.append(str(error))
    assert len(told) > 0.8 * len(bytes_) / 3
    assert all(str(path) in one and "\n" not in one for one in told)


def test_a_file_cut_off_anywhere_is_told(path: Path) -> None:
    bytes_ = path.read_bytes()
    for size in [*range(0, len(bytes_), 7), len(bytes_) - 1]:
        path.write_bytes(bytes_[:size])
        with pytest.raises(DataError, match=re.escape(str(path))):
            open_record(path)


def test_noise_and_missing_stretches_are_told(path: Path) -> None:
    bytes_, drawn = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        begin = int(drawn.integers(0, len(bytes_) - 100))
        for middle in (bytes(100), drawn.bytes(100), b""):
            path.write_bytes(bytes_[:begin] + middle + bytes_[begin + 100 :])
            with pytest.raises(DataError, match=re.escape(str(path))):
                everything(path)


def rewritten(path: Path, **changed: Any) -> None:
    """The same file with other values in its record.json."""
    copy = path.with_suffix(".copy")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "record.json":
                content = json.dumps(json.loads(content) | changed).encode()
            new.writestr(name, content)
    shutil.move(copy, path)


def test_a_file_that_was_zipped_again_is_read_all_the_same(path: Path) -> None:
    whole = everything(path)
    rewritten(path)
    assert everything(path) == whole


def says(path: Path, message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message.replace('PATH', str(path)))}$"):
        everything(path)


def test_a_file_that_is_missing_empty_or_no_file_is_told(tmp_path: Path) -> None:
    path, wanted = tmp_path / "a.edgewise", "wanted a record, as edgewise trace --out makes it; "
    with pytest.raises(MissingError, match=f"^{re.escape(f'{wanted}there is no file {path}')}$"):
        open_record(path)
    path.write_bytes(b"")
    says(path, wanted + "PATH is empty")
    path.unlink()
    path.mkdir()
    says(path, wanted + "PATH is a folder")


def test_another_kind_of_file_is_told(tmp_path: Path) -> None:
    path, wanted = tmp_path / "a.edgewise", "wanted a record, as edgewise trace --out makes it; "
    path.write_text("hello there")
    says(path, wanted + "PATH is another kind of file, which begins with b'hello th'")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("other.txt", "x")
    says(path, wanted + "PATH is a zip file of something else: it holds no record.json")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("record.json", "[]")
    says(path, wanted + 'PATH is a zip file of something else: its record.json is not of format "edgewise record"')


def test_a_newer_versions_file_says_what_to_install(path: Path) -> None:
    rewritten(path, version=2, written_by="edgewise 9.1")
    says(
        path,
        "the record PATH was written by edgewise 9.1 in version 2 of the format; this one reads up to version 1: "
        "install a newer edgewise",
    )


def test_what_is_wrong_in_the_description_is_told(path: Path) -> None:
    bytes_ = path.read_bytes()
    about = json.loads(zipfile.ZipFile(path).read("record.json"))
    call = about["calls"][1]
    for changed, message in (
        (
            {"sites": []},
            "the record PATH is damaged in record.json: IndexError: list index out of range; copy or trace",
        ),
        ({"calls": {}}, "the record PATH is damaged in record.json: calls should be a list; copy or trace it again"),
        ({"tokens": [[1]]}, "the record PATH is damaged in record.json: ValueError: a token is no text; copy or trace"),
        (
            {"calls": [about["calls"][0], call | {"scale": 1e999}]},
            "the record PATH is damaged in record.json, call 1: ArgumentError: scale must be a finite number; got inf",
        ),
        (
            {"calls": [about["calls"][0], call | {"arrays": call["arrays"] | {"key": {"dtype": "int7"}}}]},
            "the record PATH is damaged in record.json, call 1: KeyError: 'shape'",
        ),
        (
            {
                "calls": [
                    about["calls"][0],
                    call | {"arrays": call["arrays"] | {"key": call["arrays"]["key"] | {"after": 1}}},
                ]
            },
            "the record PATH is damaged in record.json, call 1: key is said to follow call 1",
        ),
        (
            {"graphs": ["causall()"] * 2},
            "the record PATH is damaged in record.json, call 0: ArgumentError: wanted a graph",
        ),
        (
            {"graphs": [["?", 1]] * 2},
            "the record PATH is damaged in record.json, call 0: ValueError: no graph begins with",
        ),
    ):
        path.write_bytes(bytes_)
        rewritten(path, **changed)
        with pytest.raises(DataError, match=f"^{re.escape(message.replace('PATH', str(path)))}"):
            everything(path)


def test_a_member_that_is_missing_or_compressed_is_told(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        contents = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(name, content)
    says(
        path,
        "the record PATH is damaged in calls/00000.safetensors: it is compressed or encrypted, so it cannot be mapped; "
        "copy or trace it again",
    )
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            if name != "calls/00001.safetensors":
                file.writestr(name, content)
    says(path, "the record PATH is damaged in calls/00001.safetensors: it is missing; copy or trace it again")


def test_changed_numbers_are_told_with_their_place(path: Path) -> None:
    bytes_ = bytearray(path.read_bytes())
    record = open_record(path)
    place = bytes(bytes_).find(np.ascontiguousarray(record.calls[1].value.bits).tobytes())
    bytes_[place] ^= 4
    path.write_bytes(bytes_)
    says(
        path,
        "the record PATH is damaged in calls/00001.safetensors: the numbers of value are not those that were written "
        "(checksum); copy or trace it again",
    )
