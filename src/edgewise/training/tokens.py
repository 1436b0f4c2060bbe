"""Tokenizers: text to integers and back, by characters or by byte pairs.

Both have the same members, so that everything after this file asks only for `size`, `encode`, `decode`,
`decode_bytes` and `to_json`. `from_json` reads either back, and any `tokenizer.json` of the `tokenizers` library.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from edgewise.errors import DataError, MissingError
from edgewise.training.pairs import BytePairs

__all__ = ["BytePairs", "Characters", "Tokenizer", "UnknownCharacterError", "from_json", "learn"]

CODES = 0x110000  # Unicode code points


class UnknownCharacterError(DataError):
    """A text has a character that the vocabulary has not; lines and columns count from 1."""

    def __init__(self, character: str, line: int, column: int, known: str) -> None:
        super().__init__(
            f"wanted characters of the vocabulary; got {character!r} at line {line}, column {column}; {known}"
        )
        self.character, self.line, self.column, self.known = character, line, column, known


class Tokenizer(Protocol):
    """What the rest of the room asks of a tokenizer."""

    @property
    def size(self) -> int:
        """Number of different tokens."""
        ...

    @property
    def says(self) -> str:
        """One phrase for people: kind and size."""
        ...

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of the tokens of `text`, int64."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`."""
        ...

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the UTF-8 bytes of `ids`; a character that they hold a part of is a part here too."""
        ...

    def to_json(self) -> str:
        """Return what `from_json` reads back."""
        ...


@dataclass(frozen=True)
class Characters:
    """One token a character: the id of a character is its place in `vocabulary`.

    Example:
        >>> letters = Characters("abc")
        >>> letters.encode("cab").tolist(), letters.decode([2, 0, 1])
        ([2, 0, 1], 'cab')
    """

    vocabulary: str

    def __post_init__(self) -> None:
        if len(set(self.vocabulary)) != len(self.vocabulary):
            twice = next(letter for letter in self.vocabulary if self.vocabulary.count(letter) > 1)
            raise DataError(f"wanted a vocabulary of different characters; {twice!r} stands in it twice")

    @classmethod
    def of(cls, pieces: Iterable[str]) -> "Characters":
        """Return the tokenizer of all characters in a text, in the order of their code points."""
        seen = np.zeros(CODES, dtype=bool)
        for piece in pieces:
            seen[_codes(piece)] = True
        return cls("".join(map(chr, np.flatnonzero(seen).tolist())))

    @property
    def size(self) -> int:
        """Number of different tokens."""
        return len(self.vocabulary)

    @property
    def says(self) -> str:
        """One phrase for people: kind and size."""
        return f"characters, {self.size} of them"

    @cached_property
    def _ids(self) -> np.ndarray:
        ids = np.full(CODES, -1, dtype=np.int32)
        ids[_codes(self.vocabulary)] = np.arange(self.size)
        return ids

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of the characters of `text`.

        Raises:
            DataError: a character that is not in the vocabulary, named with its line and column.
        """
        ids = self._ids[_codes(text)].astype(np.int64)
        if ids.size and ids.min() < 0:
            at = int(np.argmin(ids))
            line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
            raise UnknownCharacterError(text[at], line, column, f"the {self.size} known are {_shown(self.vocabulary)}")
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`."""
        return "".join(self.vocabulary[one] for one in ids)

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the UTF-8 bytes of `ids`."""
        return self.decode(ids).encode()

    def to_json(self) -> str:
        """Return what `from_json` reads back."""
        return json.dumps({"kind": "characters", "vocabulary": self.vocabulary})


def from_json(content: str, name: str = "the tokenizer") -> Tokenizer:
    """Return the tokenizer that `content` describes; `name` is what an error calls it.

    Raises:
        DataError: neither our characters nor a tokenizer.json of the tokenizers library.
    """
    wanted = (
        f'wanted {name} to be {{"kind": "characters", "vocabulary": "abc…"}} '
        "or a tokenizer.json of the tokenizers library"
    )
    try:
        described: Any = json.loads(content)
    except json.JSONDecodeError as error:
        raise DataError(f"{wanted}; it is not JSON (line {error.lineno}, column {error.colno})") from None
    if isinstance(described, dict) and described.get("kind") == "characters":
        if not isinstance(described.get("vocabulary"), str):
            raise DataError(f"{wanted}; its vocabulary is not a string")
        return Characters(described["vocabulary"])
    if isinstance(described, dict) and "model" in described:
        return BytePairs(content)
    raise DataError(f"{wanted}; it is JSON of another kind")


def learn(kind: str, vocabulary: int, pieces: Iterable[str]) -> Tokenizer:
    """Return a tokenizer: "characters" or "pairs" learnt from `pieces`, or read from the file that `kind` names.

    Raises:
        ArgumentError: too small a vocabulary for pairs.
        MissingError: `kind` is neither and there is no such file.
    """
    if kind == "characters":
        return Characters.of(pieces)
    if kind == "pairs":
        return BytePairs.of(pieces, vocabulary)
    path = Path(kind)
    if not path.is_file():
        raise MissingError(f'wanted tokens to be "characters", "pairs" or a tokenizer.json; there is no file {kind}')
    try:
        return from_json(path.read_text(encoding="utf-8"), kind)
    except UnicodeDecodeError:
        raise DataError(f"wanted a tokenizer.json; {kind} is not UTF-8 text") from None


def _codes(text: str) -> np.ndarray:
    # A lone surrogate cannot come from UTF-8, but may come from a caller's string: it is a code like any other here.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _shown(vocabulary: str, most: int = 80) -> str:
    shown = repr(vocabulary[:most])[1:-1]
    return shown if len(vocabulary) <= most else shown + "…"
