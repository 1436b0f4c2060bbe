"""The list of rungs: their order, what each one says, and how many lines it may change."""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

from edgewise.errors import ArgumentError
from edgewise.ladder.size import Size

if TYPE_CHECKING:
    from torch import nn

__all__ = ["RUNGS", "Counts", "Rung", "rung"]

MODELS = "edgewise.ladder.models"


class Counts(NamedTuple):
    """Lines that a rung changes; a line replaced counts once."""

    forward: int
    """in the forward pass"""
    constructor: int
    """in constructors: the parameters that feed the forward pass"""
    elsewhere: int = 0
    """imports and class headers"""


@dataclass(frozen=True)
class Rung:
    """One model of the ladder.

    Args:
        name: what a person types, and the file under `models/`.
        follows: the rung from which its source differs by `changed`; None for the first.
        says: its one idea, in a sentence.
        changed: the lines it changes, as counted by `edgewise.ladder.change`; held by a test.
        bounded: True where positions are learned, so that nothing longer than `Size.block` can be read.
        kind: "main" on the way to the GPT, "sibling" where it branches off.
    """

    name: str
    follows: str | None
    says: str
    changed: Counts | None
    bounded: bool = True
    kind: Literal["main", "sibling"] = "main"

    def source(self) -> str:
        """Return the source of the model's file; nothing is imported."""
        return (files("edgewise.ladder") / "models" / f"{self.name}.py").read_text(encoding="utf-8")

    def model(self) -> "type[nn.Module]":
        """Return the class `LanguageModel` of this rung."""
        return import_module(f"{MODELS}.{self.name}").LanguageModel

    def build(self, size: Size, *, seed: int = 0) -> "nn.Module":
        """Return a model with the initial parameters that `seed` gives; torch's own generator is left as it was.

        Example:
            >>> model = rung("split").build(Size(vocabulary=65))
            >>> sum(parameter.numel() for parameter in model.parameters())
            4225
        """
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.model()(size)


RUNGS: tuple[Rung, ...] = (
    Rung("bigram", None, "Each token alone says what comes next.", None, bounded=False),
    Rung(
        "split",
        "bigram",
        "What a token is and what it predicts become two tables, which leaves room between them.",
        Counts(1, 2),
        bounded=False,
    ),
    Rung(
        "loop",
        "split",
        "Each position takes the average of all that it has seen, itself included.",
        Counts(6, 0, 1),
        bounded=False,
    ),
    Rung(
        "matmul",
        "loop",
        "One product of matrices takes all the averages at once: each row of weights blends the rows of x.",
        Counts(4, 0),
        bounded=False,
    ),
    Rung(
        "softmax",
        "matmul",
        "The same average comes from scores of zero, −∞ for the future and a softmax; now scores may be anything.",
        Counts(3, 0),
        bounded=False,
    ),
    Rung(
        "positions",
        "softmax",
        "A sum knows no order, so each token also carries where it stands.",
        Counts(1, 1, 1),
    ),
    Rung(
        "scores",
        "positions",
        "How much one position reads of another comes from the two of them: a query meets a key.",
        Counts(1, 2),
    ),
    Rung(
        "values",
        "scores",
        "What is handed over is a projection of its own, not the thing that was looked at.",
        Counts(1, 1),
    ),
    Rung(
        "scale",
        "values",
        "Divided by √width, scores keep their variance and softmax stays soft: this is attention.",
        Counts(1, 1),
    ),
    Rung(
        "encoder",
        "scale",
        "Without the line of the mask every position reads every other, the answer included.",
        Counts(1, 0),
        kind="sibling",
    ),
    Rung(
        "cross",
        "encoder",
        "Queries come from one sequence, keys and values from another.",
        Counts(6, 0),
        kind="sibling",
    ),
    Rung(
        "attend",
        "scale",
        "The four lines have earned a name and become one call, equal in values and gradients.",
        Counts(4, 1, 3),
    ),
    Rung(
        "heads",
        "attend",
        "The width is dealt out to several heads, each looking for something of its own, and their finds are mixed.",
        Counts(8, 10, 1),
    ),
    Rung(
        "feedforward",
        "heads",
        "Each position works on what it has gathered, alone.",
        Counts(1, 3),
    ),
    Rung(
        "residual",
        "feedforward",
        "Each part adds to x instead of replacing it.",
        Counts(2, 0),
    ),
    Rung(
        "layernorm",
        "residual",
        "Each part reads x at one scale: every position's vector is normalised along its row.",
        Counts(6, 7, 2),
    ),
    Rung(
        "batchnorm",
        "layernorm",
        "Normalised down the columns instead, a sequence depends on its companions, and on its own future.",
        Counts(1, 0),
        kind="sibling",
    ),
    Rung(
        "blocks",
        "layernorm",
        "The two parts become a block, and blocks are stacked.",
        Counts(5, 14, 1),
    ),
    Rung(
        "gpt",
        "blocks",
        "The same model made ready to train and to write: fused, tied, without biases, with caches.",
        Counts(32, 25, 6),
    ),
)


def rung(name: str) -> Rung:
    """Return the rung of that name.

    Raises:
        ArgumentError: there is none.
    """
    for candidate in RUNGS:
        if candidate.name == name:
            return candidate
    names = [candidate.name for candidate in RUNGS]
    close = get_close_matches(name, names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ArgumentError(f"no rung is called {name!r}{hint}; the rungs are {', '.join(names)}")
