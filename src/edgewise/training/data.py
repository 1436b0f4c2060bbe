"""The tokens of a text, split once into training and validation, and the windows that a step reads.

Tokens lie in a file that is mapped, not read, so that a text larger than memory trains. Which windows a step reads is
a function of the seed and the step alone, so there is nothing to save about the order.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from edgewise.errors import ArgumentError, DataError
from edgewise.training.pairs import between_words
from edgewise.training.tokens import BytePairs, Tokenizer, UnknownCharacterError

__all__ = ["Corpus", "write_tokens"]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Tokens, of which the first `len(tokens) - held_out` are for training and the rest for validation."""

    tokens: np.ndarray
    held_out: int

    @classmethod
    def of(cls, tokens: np.ndarray, block: int, validation: float = 0.1) -> "Corpus":
        """Return the tokens split, the last `validation` part held out.

        Raises:
            ArgumentError: `validation` is not a part.
            DataError: a split holds no window: `block` tokens and the one after them.
        """
        if not 0 < validation < 1:
            raise ArgumentError(
                f"wanted validation, the part of the text that is held out, between 0 and 1; got {validation}"
            )
        held_out = len(tokens) - int(len(tokens) * (1 - validation))
        corpus = cls(tokens, held_out)
        for name, part, other in (
            ("training", corpus.training, "smaller"),
            ("validation", corpus.validation, "larger"),
        ):
            if len(part) <= block:
                raise DataError(
                    f"wanted at least block + 1 = {block + 1} tokens for {name}; the text has {len(tokens)} tokens, "
                    f"{len(part)} of them for {name}; use a longer text, a smaller block or a {other} validation part"
                )
        return corpus

    @classmethod
    def open(cls, path: Path, held_out: int, kind: str) -> "Corpus":
        """Return the tokens that `write_tokens` wrote, mapped from their file."""
        return cls(np.memmap(path, dtype=kind, mode="r"), held_out)

    @property
    def training(self) -> np.ndarray:
        """The tokens that are learnt from."""
        return self.tokens[: len(self.tokens) - self.held_out]

    @property
    def validation(self) -> np.ndarray:
        """The tokens that are only ever predicted."""
        return self.tokens[len(self.tokens) - self.held_out :]

    def starts(self, seed: int, step: int, count: int, block: int) -> np.ndarray:
        """Return where in the training tokens the windows of a step begin."""
        generator = np.random.Generator(np.random.Philox(key=np.array([seed, step], dtype=np.uint64)))
        return generator.integers(0, len(self.training) - block, size=count)

    def validation_starts(self, count: int, block: int) -> np.ndarray:
        """Return where the validation windows begin: side by side where they all fit, else spread evenly."""
        room = len(self.validation) - block
        fits = -(-room // block)
        return (
            np.linspace(0, room - 1, min(count, fits)).astype(np.int64) if count < fits else np.arange(0, room, block)
        )


def windows(
    tokens: np.ndarray, starts: np.ndarray, block: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Return the windows that begin at `starts` and their targets, the same windows one token on; (windows, block)."""
    taken = torch.from_numpy(tokens[starts[:, None] + np.arange(block + 1)].astype(np.int64))
    if torch.device(device).type == "cuda":
        taken = taken.pin_memory().to(device, non_blocking=True)
    return taken[:, :-1].contiguous().to(device), taken[:, 1:].contiguous().to(device)


def write_tokens(pieces: Iterable[str], tokenizer: Tokenizer, path: Path) -> tuple[np.ndarray, str]:
    """Write the tokens of a text to a file, a piece at a time; return them mapped, and their kind (a numpy dtype)."""
    kind = "<u2" if tokenizer.size <= 1 << 16 else "<u4"
    line = column = 0  # of what was written so far
    with path.open("wb") as file:
        for piece in between_words(pieces) if isinstance(tokenizer, BytePairs) else pieces:
            try:
                ids = tokenizer.encode(piece)
            except UnknownCharacterError as unknown:
                # The tokenizer counts from the start of the piece, people from the start of the text.
                column = unknown.column + (column if unknown.line == 1 else 0)
                raise UnknownCharacterError(unknown.character, line + unknown.line, column, unknown.known) from None
            ids.astype(kind).tofile(file)
            line += piece.count("\n")
            column = len(piece) - 1 - piece.rfind("\n") + (column if "\n" not in piece else 0)
    if not path.stat().st_size:
        raise DataError("wanted text; all of it is empty")
    return np.memmap(path, dtype=kind, mode="r"), kind
