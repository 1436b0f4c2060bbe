"""Reading a record from its file: opened at once at any size, mapped, and checked as far as it is looked at."""

import contextlib
import json
import mmap
import zipfile
from collections.abc import Generator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.errors import DataError, EdgewiseError, MissingError
from edgewise.graphs import Graph
from edgewise.records.arrays import Array, Source
from edgewise.records.call import Call
from edgewise.records.calls import Calls
from edgewise.records.described import proof, read_call, read_graph, tokens
from edgewise.records.members import Buffer, DamagedError, Member
from edgewise.records.record import Record
from edgewise.records.site import Site
from edgewise.records.writer import FORMAT, VERSION

__all__ = ["open_record"]

HEAD = 30  # bytes of a zip member before its name


def open_record(path: str | Path) -> Record:
    """Return the record in a file; its arrays are mapped, so that it costs no memory until it is looked at.

    Raises:
        MissingError: there is no such file.
        DataError: it is no record, is damaged, or is a newer version's. Arrays are checked when they are first looked
            at, so that this may come later for them.
    """
    return _File(Path(path)).record()


class _File:
    """A mapped record file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as self.zip, self.damage("record.json"):
            self.about: dict[str, Any] = json.loads(self.zip.read("record.json"))
            self._check_version()
            described: Any = self.about["calls"]
            if not isinstance(described, list):
                raise DamagedError("calls should be a list")
            self.described: list[dict[str, Any]] = described
        with path.open("rb") as file:
            self.memory = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        self.member = cache(self._member)
        self.graph = cache(self._graph)

    def record(self) -> Record:
        """Return the record, none of whose calls is made yet."""
        about = self.about
        with self.damage("record.json"):
            self.sites = [Site(**site) for site in about["sites"]]
            return Record(
                Calls([self.sites[call["site"]] for call in self.described], self.call),
                tokens=tokens(about["tokens"]),
                source=tokens(about["source"]),
                target=about["target"],
                proof=proof(about["proof"]),
                made=about["made"],
                inputs=about["inputs"],
            )

    def call(self, number: int) -> Call:
        """Return one call."""
        with self.damage("record.json", f"call {number}"):
            described = self.described[number]
            arrays = {
                name: Array(one["dtype"], tuple(map(int, one["shape"])), _Stored(self, number, name))
                for name, one in described["arrays"].items()
            }
            graph = None if described["graph"] is None else self.graph(described["graph"])
            return read_call(described, self.sites[described["site"]], graph, arrays)

    @contextlib.contextmanager
    def damage(self, member: str, what: str = "") -> Generator[None]:
        """Say of anything that goes wrong that the file is damaged, and where."""
        try:
            yield
        except (DataError, MissingError):
            raise
        except zipfile.BadZipFile as error:
            reason = "its numbers are not those that were written" if "CRC" in str(error) else str(error)
            raise self.damaged(member, what, reason) from None
        except DamagedError as error:
            raise self.damaged(member, what, str(error)) from None
        except (EdgewiseError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise self.damaged(member, what, f"{type(error).__name__}: {error}") from None
        except (OSError, RuntimeError, NotImplementedError, EOFError) as error:
            raise self.damaged(member, what, str(error)) from None

    def damaged(self, member: str, what: str, reason: str) -> DataError:
        """Return what to say of a damaged file."""
        where = f"{member}, {what}" if what else member
        return DataError(f"the record {self.path} is damaged in {where}: {reason}; copy or trace it again")

    def _opened(self) -> zipfile.ZipFile:
        wanted, path = "wanted a record, as edgewise trace --out makes it", self.path
        if not path.exists():
            raise MissingError(f"{wanted}; there is no file {path}")
        if path.is_dir():
            raise DataError(f"{wanted}; {path} is a folder")
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                begins = file.read(8)
        except OSError as error:
            raise DataError(f"{wanted}; {path} cannot be read ({error.strerror})") from None
        if not size:
            raise DataError(f"{wanted}; {path} is empty")
        try:
            opened = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            if begins[:2] == b"PK":
                raise DataError(
                    f"the record {path} is cut off or damaged at its end, after {size:,} bytes ({error}); "
                    "copy or trace it again"
                ) from None
            raise DataError(f"{wanted}; {path} is another kind of file, which begins with {begins!r}") from None
        if "record.json" not in opened.NameToInfo:
            opened.close()
            raise DataError(f"{wanted}; {path} is a zip file of something else: it holds no record.json")
        return opened

    def _check_version(self) -> None:
        about: Any = self.about
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise DataError(
                f"wanted a record, as edgewise trace --out makes it; {self.path} is a zip file of something else: "
                f'its record.json is not of format "{FORMAT}"'
            )
        if int(about["version"]) > VERSION:
            raise DataError(
                f"the record {self.path} was written by {about.get('written_by')} in version {about['version']} of the "
                f"format; this one reads up to version {VERSION}: install a newer edgewise"
            )

    def _member(self, name: str) -> Member:
        return Member(lambda: self._bytes(name))

    def _bytes(self, name: str) -> Buffer:
        """Return the bytes of a member, mapped."""
        try:
            info = self.zip.getinfo(name)
        except KeyError:
            raise DamagedError("it is missing") from None
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise DamagedError("it is compressed or encrypted, so it cannot be mapped")
        head = self.memory[info.header_offset : info.header_offset + HEAD].tobytes()
        begin = (
            info.header_offset + HEAD + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        )
        found = self.memory[begin : begin + info.file_size]
        if head[:4] != b"PK\x03\x04" or found.size != info.file_size:
            raise DamagedError("it does not lie where the directory says")
        return found

    def _graph(self, number: int) -> Graph:
        return read_graph(self.about["graphs"][number], self._graph_array)

    def _graph_array(self, name: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        with self.damage(name):
            return self.member(name).read("array", dtype, shape, ())


class _Stored:
    """Where the bits of an array of a call lie in a file: in its own member, behind those of an earlier call."""

    def __init__(self, file: _File, number: int, name: str) -> None:
        self.file, self.number, self.name = file, number, name

    def continues(self, other: Source) -> bool:
        """Return whether the file says that this begins with all of `other`."""
        if not isinstance(other, _Stored) or (self.file, self.name) != (other.file, other.name):
            return False
        return other.number == self.file.described[self.number]["arrays"][self.name]["after"]

    def read(self, place: tuple[int, ...]) -> NDArray[Any]:
        """Return the bits at `place`."""
        parts: list[NDArray[Any]] = []
        number: int | None = self.number
        while number is not None:
            with self.file.damage("record.json", f"call {number}"):
                entry: Mapping[str, Any] = self.file.described[number]["arrays"][self.name]
                shape, after = tuple(map(int, entry["shape"])), entry["after"]
                if after is not None:
                    if not 0 <= after < number:
                        raise DamagedError(f"{self.name} is said to follow call {after}")
                    before = self.file.described[after]["arrays"][self.name]["shape"]
                    shape = None if before == entry["shape"] else (*shape[:2], shape[2] - before[2], *shape[3:])
            if shape is not None:
                member = f"calls/{number:05}.safetensors"
                with self.file.damage(member):
                    parts.append(self.file.member(member).read(self.name, entry["dtype"], shape, place))
            number = after
        return parts[0] if len(parts) == 1 else np.concatenate(parts[::-1], axis=2 - len(place))
