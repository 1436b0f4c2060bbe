"""Writing a record call by call, so that it may be larger than the memory; docs/record.md describes the file.

The file is written beside its place under a hidden name and renamed when it is whole, so that nothing unfinished ever
stands under its name.
"""

import contextlib
import json
import os
import zipfile
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.errors import RunError
from edgewise.graphs import Graph
from edgewise.records.arrays import Array
from edgewise.records.call import Call
from edgewise.records.described import described_call, described_graph, json_values, number
from edgewise.records.members import header, pieces
from edgewise.records.record import Proof, Record
from edgewise.records.repeats import Repeats
from edgewise.records.site import Site

__all__ = ["FORMAT", "VERSION", "Writer", "save"]

FORMAT, VERSION = "edgewise record", 1


class Writer:
    """Writes a record as its calls happen.

    Args:
        path: the file to be; one that is there already is replaced when the new one is whole.

    Raises:
        RunError: the file cannot be written.

    Example:
        >>> with Writer(path) as writer:  # doctest: +SKIP
        ...     writer.add(call)
        ...     writer.describe(tokens=(("a", "b"),), target="my model")
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._about = Record(())
        self._sites: dict[Site, int] = {}
        self._graphs: dict[Graph, int] = {}
        self._described_graphs: list[Any] = []
        self._calls: list[dict[str, Any]] = []
        self._members = 0
        _sweep(self.path)
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self._file: IO[bytes] = self._temporary.open("w+b")
        except OSError as error:
            raise RunError(f"the record {self.path} cannot be written ({error.strerror})") from error
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        self._repeats = Repeats(self._look)

    def add(self, call: Call) -> None:
        """Write one call; its arrays are not held afterwards.

        Keys and values that a cached step shares with the step before are written once, and so are masks and biases
        that several calls share.

        Raises:
            RunError: the file cannot be written.
        """
        place = len(self._calls)
        own, arrays = dict[str, Array](), dict[str, Any]()
        for name, array in call.arrays.items():
            after, rest = self._repeats.rest(call, name, array)
            arrays[name] = {"dtype": array.dtype, "shape": list(array.shape), "after": after}
            if rest is not None:
                own[name] = rest
        graph = None if call.graph is None else self._graph(call.graph)
        begins = self._put(f"calls/{place:05}.safetensors", own)
        site = self._sites.setdefault(call.site, len(self._sites))
        for name in arrays:
            self._repeats.wrote(call, name, arrays[name]["after"], own.get(name), begins.get(name, 0), place)
        self._calls.append({"site": site, "graph": graph, **described_call(call), "arrays": arrays})

    def describe(self, **about: Any) -> None:
        """Say what the run was, at any time before the end: tokens, source, target, proof, made, inputs of `Record`."""
        self._about = Record((), **{**_about(self._about), **about})

    def close(self) -> None:
        """Write what the run was and put the file in its place.

        Raises:
            RunError: the file cannot be written.
        """
        about = self._about
        described = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": f"edgewise {_version()}",
            "target": about.target,
            "tokens": about.tokens,
            "source": about.source,
            "proof": _proof(about.proof),
            "made": json_values("made", dict(about.made)),
            "inputs": json_values("inputs", dict(about.inputs)),
            "sites": [asdict(site) for site in self._sites],
            "graphs": self._described_graphs,
            "calls": self._calls,
        }
        with self._failures():
            # Escapes keep any text, half a character pair included.
            self._zip.writestr("record.json", json.dumps(described, ensure_ascii=True, allow_nan=False, default=_plain))
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._temporary.replace(self.path)

    def discard(self) -> None:
        """Remove what was written; nothing stands under the name that was not there before."""
        # The directory of an unfinished zip is written on closing: into a file that is then removed.
        with contextlib.suppress(OSError, ValueError):
            self._zip.close()
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.discard()

    def _graph(self, graph: Graph) -> int:
        if graph not in self._graphs:
            self._described_graphs.append(described_graph(graph, self._put_array))
            self._graphs[graph] = len(self._graphs)
        return self._graphs[graph]

    def _put_array(self, array: Array) -> str:
        name = f"graphs/{self._members:05}.safetensors"
        self._members += 1
        self._put(name, {"array": array})
        return name

    def _look(self, begin: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        self._file.flush()
        return np.memmap(self._temporary, dtype, "r", begin, shape)

    def _put(self, name: str, arrays: dict[str, Array]) -> dict[str, int]:
        """Write a member and return where in the file each array begins."""
        if not arrays:
            return {}
        with self._failures(), self._zip.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
            head, places = header(arrays, self._file.tell())
            member.write(head)
            for one in places:
                for piece in pieces(arrays[one].bits):
                    if piece.size:
                        member.write(piece.data)
        return places

    @contextlib.contextmanager
    def _failures(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"the record {self.path} cannot be written ({error.strerror or error})") from error


def save(record: Record, path: str | Path) -> None:
    """Write a whole record to a file.

    Raises:
        RunError: the file cannot be written.
    """
    with Writer(path) as writer:
        for call in record.calls:
            writer.add(call)
        writer.describe(**_about(record))


def _about(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("tokens", "source", "target", "proof", "made", "inputs")}


def _proof(proof: Proof) -> dict[str, Any]:
    unbounded = {name: number(getattr(proof, name)) for name in ("difference", "noise", "gradients")}
    return asdict(proof) | unbounded


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is no JSON value")


def _version() -> str:
    from edgewise import __version__

    return __version__


def _sweep(path: Path) -> None:
    """Remove what writers of this file that were killed have left."""
    for left in path.parent.glob(f".{path.name}.*"):
        writer = left.name.rpartition(".")[2]
        if writer.isdigit() and int(writer) != os.getpid() and not _runs(int(writer)):
            left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
