"""Byte-level byte pairs, by the `tokenizers` library: learnt from a text, or any tokenizer.json read back."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.errors import ArgumentError, DataError

__all__ = ["BytePairs", "between_words"]

BYTES = 256
LONGEST = 1 << 24  # characters
SEAM = re.compile(r"\S\n(?=\S)")


class BytePairs:
    """A tokenizer of the `tokenizers` library, most often byte-level byte pairs; `content` is its tokenizer.json."""

    def __init__(self, content: str) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_str(content)
        except Exception as error:  # the library raises bare Exception
            raise DataError(f"wanted a tokenizer.json of the tokenizers library; it says: {error}") from None
        self._content = content

    @classmethod
    def of(cls, pieces: Iterable[str], vocabulary: int) -> "BytePairs":
        """Return byte pairs learnt from a text: the 256 bytes, and merges of them up to `vocabulary` tokens.

        Raises:
            ArgumentError: a vocabulary without room for one merge.
        """
        if vocabulary <= BYTES:
            raise ArgumentError(
                f"wanted a vocabulary of more than {BYTES} tokens (every byte is one); got {vocabulary}"
            )
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        trainer = trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(between_words(pieces), trainer)
        return cls(tokenizer.to_str())

    @property
    def size(self) -> int:
        """Number of different tokens."""
        return self._tokenizer.get_vocab_size()

    @property
    def says(self) -> str:
        """One phrase for people: kind and size."""
        return f"{'byte pairs' if self._letters is not None else 'a loaded vocabulary'}, {self.size} tokens"

    @cached_property
    def _letters(self) -> dict[str, int] | None:
        """Return the byte that each letter of a token stands for; None where the tokenizer is not byte-level."""
        described: dict[str, Any] = json.loads(self._content)
        decoder: dict[str, Any] = described.get("decoder") or {}
        kinds: list[dict[str, Any]] = decoder.get("decoders") or [decoder]
        if not any(kind.get("type") == "ByteLevel" for kind in kinds):
            return None
        # GPT-2's table: printable bytes stand for themselves, the others for the letters from 256 on.
        plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = [byte for byte in range(BYTES) if byte not in plain]
        return {chr(byte): byte for byte in plain} | {chr(BYTES + place): byte for place, byte in enumerate(others)}

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of the tokens of `text`; every text has some."""
        return np.asarray(self._tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`; bytes that are not UTF-8 become U+FFFD."""
        if self._letters is not None:
            return self.decode_bytes(ids).decode("utf-8", errors="replace")
        return self._tokenizer.decode([int(one) for one in ids], skip_special_tokens=False)

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of `ids`; a character that they hold a part of is a part here too."""
        if self._letters is None:
            return self.decode(ids).encode()
        tokens = (self._tokenizer.id_to_token(int(one)) or "" for one in ids)
        return b"".join(
            # A special token such as <|endoftext|> is spelt in plain letters, which the table may not know.
            bytes(self._letters[letter] for letter in token)
            if all(letter in self._letters for letter in token)
            else token.encode()
            for token in tokens
        )

    def to_json(self) -> str:
        """Return the tokenizer.json."""
        return self._content


def between_words(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the same text cut only after a newline between two words, where no token of byte pairs can span the cut.

    So a text encodes to the same tokens however it was read; but a stretch of `LONGEST` without such a place is cut
    where it is, lest it fill the memory.
    """
    kept = ""
    for piece in pieces:
        kept += piece
        cut = max((seam.end() for seam in SEAM.finditer(kept)), default=len(kept) if len(kept) >= LONGEST else 0)
        if cut:
            yield kept[:cut]
            kept = kept[cut:]
    if kept:
        yield kept
