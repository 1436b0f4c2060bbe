"""A text as the derivation reads it: characters as numbers, nine tenths to learn from, and its pairs counted."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from edgewise.derivation.lesson import BLOCK
from edgewise.training import SHA256, Characters, Corpus, find

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """One text, read once. `why` is a sentence that says which text it is."""

    name: str
    why: str
    text: str

    @classmethod
    def find(cls, paths: Sequence[str | Path] | None = None) -> "Reading":
        """Return the text that `paths` name, or the default text.

        Raises:
            MissingError: a path names nothing.
            DataError: a text is empty, too short, or not UTF-8.
        """
        found = find(paths)
        return cls(found.name, found.why, found.read())

    @property
    def is_tinyshakespeare(self) -> bool:
        """Whether this is that text, byte for byte."""
        return hashlib.sha256(self.text.encode()).hexdigest() == SHA256

    @cached_property
    def tokenizer(self) -> Characters:
        """The characters of the text, numbered in sorted order."""
        return Characters.of([self.text])

    @cached_property
    def corpus(self) -> Corpus:
        """The text as numbers; the last tenth is held out."""
        return Corpus.of(self.tokenizer.encode(self.text), BLOCK)

    @cached_property
    def pairs(self) -> np.ndarray:
        """How often each character (column) follows each other (row) in the part that is learnt from."""
        size, tokens = self.tokenizer.size, self.corpus.training.astype(np.int64)
        return np.bincount(tokens[:-1] * size + tokens[1:], minlength=size * size).reshape(size, size)

    @cached_property
    def pair_losses(self) -> tuple[float, float]:
        """The training and validation loss of counting pairs: the best that a table of pairs can learn, in nats."""
        # One tenth of a count for each pair that was never seen: without it a new pair costs infinity.
        losses: list[float] = []
        for part, extra in ((self.corpus.training, 0.0), (self.corpus.validation, 0.1)):
            with np.errstate(divide="ignore", invalid="ignore"):
                cost = -np.log((self.pairs + extra) / (self.pairs + extra).sum(axis=1, keepdims=True))
            losses.append(float(cost[part[:-1], part[1:]].mean()))
        return losses[0], losses[1]
