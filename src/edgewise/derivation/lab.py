"""Where claims are measured: the text they are about, and the models trained on it, each of them only once.

A lab that holds another text than tinyshakespeare, or none, says so by `NeedsText`, and the claim is skipped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor, nn

from edgewise.derivation.lesson import BLOCK, LESSON, Question, losses, next_token, teach
from edgewise.derivation.reading import Reading
from edgewise.derivation.screen import Watch, unwatched
from edgewise.ladder import Size, rung

__all__ = ["Lab", "NeedsText", "Trained"]


class NeedsText(Exception):  # noqa: N818 — it is no mistake, it is why a claim is skipped
    """A claim is about tinyshakespeare and the lab does not have it."""

    def __str__(self) -> str:
        return "needs tinyshakespeare (--text PATH)"


@dataclass(frozen=True)
class Trained:
    """A model after its lesson, with its mean loss at each position of a block, in nats."""

    model: nn.Module
    training: Tensor
    validation: Tensor


class Lab:
    """Holds a text and remembers what was trained on it.

    Args:
        text: the text that claims may read; None for no text.
        watch: told of every step of every lesson.
    """

    def __init__(self, text: Reading | None = None, watch: Watch = unwatched) -> None:
        self._text = text
        self._watch = watch
        self._trained: dict[str, Trained] = {}

    @cached_property
    def shakespeare(self) -> Reading:
        """Tinyshakespeare, and no other text: the claims' figures are about it alone.

        Raises:
            NeedsText: the lab was given another text, or none.
        """
        if self._text is None or not self._text.is_tinyshakespeare:
            raise NeedsText
        return self._text

    def rung(self, name: str) -> Trained:
        """Return the rung of that name after its lesson on the text."""
        return self.trained(name, lambda: rung(name).build(Size(self.shakespeare.tokenizer.size, block=BLOCK)))

    def trained(self, what: str, build: Callable[[], nn.Module], ask: Question = next_token) -> Trained:
        """Return the model that `build` makes after a lesson of `ask`, remembered as `what`."""
        if what not in self._trained:
            corpus = self.shakespeare.corpus
            model = teach(build(), corpus, ask=ask, tick=lambda done: self._watch(what, done, LESSON.steps))
            seen, held_out = (losses(model, part, ask=ask) for part in (corpus.training, corpus.validation))
            self._trained[what] = Trained(model, seen, held_out)
        return self._trained[what]
