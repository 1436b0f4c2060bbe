"""Texts to learn from: files, folders, globs or standard input, read in pieces and checked to be UTF-8.

A `Text` knows its sources and never holds a file whole, so that a text may be larger than memory. `find` turns what a
person named into a Text; when nothing was named it finds a default text and says which and why.
"""

import codecs
import glob
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from edgewise.errors import DataError, MissingError
from edgewise.training.shakespeare import shakespeare

__all__ = ["Source", "Text", "find"]

SNIFFED = 8192  # bytes that tell a text file from another
PIECE = 1 << 20  # bytes read at a time: large enough to be fast, small beside any memory


@dataclass(frozen=True)
class Source:
    """One named stretch of UTF-8 bytes: a file, or bytes held in memory when `path` is None."""

    name: str
    path: Path | None = None
    held: bytes = b""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.held) if self.path is None else self.path.stat().st_size

    def pieces(self, size: int = PIECE) -> Iterator[str]:
        """Yield the text in order, in pieces of about `size` bytes; a byte order mark at its start is dropped.

        Raises:
            DataError: a byte that is not UTF-8, named by file, line and byte; or a byte 0: the file is binary.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        line, read, start = 1, 0, True
        for raw in self._raw(size):
            held_back = len(decoder.getstate()[0])
            try:
                piece = decoder.decode(raw)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise DataError(self._not_text(error, line, read - held_back + error.start)) from None
            if "\0" in piece:
                before = piece[: piece.index("\0")]
                at = read - held_back + len(before.encode())
                line += before.count("\n")
                raise DataError(
                    f"wanted UTF-8 text; {self.name} has a zero byte at line {line}, byte {at}, so it is binary or "
                    "UTF-16; name text files only, or convert it first with iconv"
                )
            read += len(raw)
            line += piece.count("\n")
            if start and piece:
                piece, start = piece.removeprefix("\ufeff"), False
            if piece:
                yield piece
        if decoder.getstate()[0]:
            raise DataError(
                f"wanted UTF-8 text; {self.name} ends inside a character (line {line}, byte {read}); is it cut off?"
            )

    def _raw(self, size: int) -> Iterator[bytes]:
        if self.path is None:
            yield from (self.held[at : at + size] for at in range(0, len(self.held), size))
            return
        with self.path.open("rb") as file:
            while raw := file.read(size):
                yield raw

    def _not_text(self, error: UnicodeDecodeError, line: int, at: int) -> str:
        byte = error.object[error.start]
        encoding = "utf-16" if at == 0 and byte in (0xFE, 0xFF) else "latin1"
        return (
            f"wanted UTF-8 text; {self.name} has byte 0x{byte:02x} at line {line}, byte {at}; "
            f"if it is text, convert it first, for example: iconv -f {encoding} -t utf-8"
        )


@dataclass(frozen=True)
class Text:
    """A text to learn from. `name` is short enough to name a run after; `why` is one sentence on where it came from."""

    name: str
    why: str
    sources: tuple[Source, ...]

    def pieces(self, size: int = PIECE) -> Iterator[str]:
        """Yield the whole text in order; where a source does not end its last line, a newline is put after it."""
        ended = True
        for source in self.sources:
            if not ended:
                yield "\n"
            for piece in source.pieces(size):
                ended = piece.endswith("\n")
                yield piece

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(source.size for source in self.sources)

    def read(self) -> str:
        """Return the whole text as one string."""
        return "".join(self.pieces())


def find(paths: Sequence[str | Path] | None = None, *, download: bool | None = None) -> Text:
    """Return the text that `paths` name (files, folders, globs, or "-" for standard input), else a default text.

    The default is tinyshakespeare where it lies in the cache or can be downloaded, else the English prose that every
    CPython carries (`pydoc_data.topics`). `download` None asks the environment: not where EDGEWISE_OFFLINE is set.

    Raises:
        MissingError: a path or pattern that names nothing, or a folder without a text file.
        DataError: all of it is empty.
    """
    if not paths:
        return _default(not os.environ.get("EDGEWISE_OFFLINE") if download is None else download)
    sources: dict[Path, Source] = {}
    for path in paths:
        for source in _named(str(path)):
            # The same file named twice must not be read twice: it would stand on both sides of the validation split.
            sources.setdefault(source.path.resolve() if source.path else Path("-"), source)
    if not any(source.size for source in sources.values()):
        raise DataError(f"wanted text; {_listed(list(sources.values()))} is empty")
    return Text(
        _slug(_stem(str(paths[0]))), f"the text is {_listed(list(sources.values()))}, as named", tuple(sources.values())
    )


def _stem(first: str) -> str:
    if first == "-":
        return "stdin"
    if _is_pattern(first):
        return Path(first).stem
    return Path(first).resolve().stem if Path(first).is_file() or Path(first).is_dir() else "pipe"


def _named(path: str) -> list[Source]:
    if path == "-":
        return [_kept("standard input", sys.stdin.buffer)]
    if _is_pattern(path):
        found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 — Path.glob takes no absolute pattern
        if not found:
            raise MissingError(f"wanted text; no file matches {path}")
        return [source for one in found for source in (_folder(one) if Path(one).is_dir() else [_file(one)])]
    if Path(path).is_dir():
        sources = _folder(path)
        if not sources:
            raise MissingError(f"wanted text; the folder {path} holds no UTF-8 text file, at any depth")
        return sources
    if not Path(path).exists():
        raise MissingError(f"wanted text; there is no file or folder {path}")
    return [_file(path)]


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path) and not Path(path).exists()


def _file(path: str) -> Source:
    if not os.access(path, os.R_OK):
        raise MissingError(f"wanted text; {path} may not be read by this user")
    if not Path(path).is_file():  # a pipe: <(zcat book.txt.gz)
        with Path(path).open("rb") as pipe:
            return _kept(path, pipe)
    return Source(path, Path(path))


def _folder(folder: str) -> list[Source]:
    """Return the text files below a folder in a fixed order; hidden, empty and binary ones are not meant."""
    sources: list[Source] = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = [Path(here, name) for name in sorted(files) if not name.startswith(".")]
        sources += [Source(str(path), path) for path in paths if _looks_like_text(path)]
    return sources


def _looks_like_text(path: Path) -> bool:
    """Return whether the first bytes of a file are UTF-8; what follows them is checked when it is read."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        start = file.read(SNIFFED)
    try:
        return bool(start) and "\0" not in codecs.getincrementaldecoder("utf-8")().decode(
            start, final=len(start) < SNIFFED
        )
    except UnicodeDecodeError:
        return False


def _kept(name: str, pipe: BinaryIO) -> Source:
    """Return what a pipe gives, kept in a file: a text is read twice, and a pipe can be read once."""
    handle, path = tempfile.mkstemp(prefix="edgewise-", suffix=".txt")
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(pipe, file)
    source = Source(name, Path(path))
    weakref.finalize(source, Path(path).unlink, missing_ok=True)
    return source


def _default(download: bool) -> Text:
    path, why = shakespeare(download)
    if path is not None:
        return Text("tinyshakespeare", why, (Source("tinyshakespeare", path),))
    from pydoc_data.topics import topics  # 700 kB of prose: loaded by the one who needs it

    prose = "\n".join(topics[key] for key in sorted(topics))
    return Text("python-topics", why, (Source("pydoc_data.topics", held=prose.encode()),))


def _listed(sources: list[Source]) -> str:
    if len(sources) == 1:
        return sources[0].name
    return f"{len(sources)} files from {sources[0].name} to {sources[-1].name}"


def _slug(name: str) -> str:
    kept = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-").lower()
    return kept[:40] or "text"
