"""A lesson: a small model learns from a text for a fixed number of steps, and is asked how well it does.

The same for every rung, so that what differs between two losses is the rung. Steps are counted, never seconds, so that
a lesson gives the same numbers again.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from edgewise.ladder import Size
from edgewise.training import Characters, Corpus, Loaded, Recipe, Step, sample, windows

__all__ = ["BLOCK", "LESSON", "Question", "losses", "next_token", "steps_of", "teach", "write", "writing_loss"]

BLOCK = 8  # tokens that a small model sees at once
LESSON = Recipe(
    optimiser="adamw", learning_rate=1e-2, weight_decay=0.01, clip=0, steps=2000, warm_up=50, final=0.0, batch=32
)


class Question(Protocol):
    """Makes of windows, and the tokens after them, what the model is given and what it must answer."""

    def __call__(self, tokens: Tensor, following: Tensor, /) -> tuple[Tensor, Tensor]:
        """Return the input and the answers; −100 where nothing is asked."""
        ...


def next_token(tokens: Tensor, following: Tensor) -> tuple[Tensor, Tensor]:
    """Ask for the next token at every position: the question of a language model."""
    return tokens, following


def teach(
    model: nn.Module,
    corpus: Corpus,
    recipe: Recipe = LESSON,
    *,
    block: int = BLOCK,
    ask: Question = next_token,
    tick: Callable[[int], object] = lambda _: None,
) -> nn.Module:
    """Train `model` in place and return it; `tick` is told the steps done."""
    for number, _ in enumerate(steps_of(model, corpus, recipe, block=block, ask=ask), 1):
        tick(number)
    return model.eval()


def steps_of(
    model: nn.Module, corpus: Corpus, recipe: Recipe = LESSON, *, block: int = BLOCK, ask: Question = next_token
) -> Generator[float]:
    """Train `model` in place, a step each time that the next loss is asked for."""
    step = Step(model, recipe, precision="float32", compiled=False)
    with _one_thread():
        for number in range(recipe.steps):
            starts = corpus.starts(recipe.seed, number, recipe.batch, block)
            yield step([ask(*windows(corpus.training, starts, block))], recipe.factor(number)).item()


@contextmanager
def _one_thread() -> Generator[None]:
    """Models as small as these gain nothing from a second thread, and beside a busy neighbour lose a lot by it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@torch.no_grad()
def losses(
    model: nn.Module, tokens: np.ndarray, *, block: int = BLOCK, ask: Question = next_token, most: int = 16384
) -> Tensor:
    """Return the mean loss at each position of a block, over at most `most` windows side by side in `tokens`."""
    total, asked = torch.zeros(block), torch.zeros(block)
    for some in _spread(tokens, block, most):
        given, wanted = ask(*windows(tokens, some, block))
        each = nn.functional.cross_entropy(model(given).transpose(1, 2), wanted, reduction="none")
        total, asked = total + each.sum(dim=0), asked + (wanted != -100).sum(dim=0)
    return total / asked


@torch.no_grad()
def writing_loss(model: nn.Module, tokens: np.ndarray, *, block: int = BLOCK, most: int = 4096) -> float:
    """Return the mean loss of guessing the next token when nothing after it has been given, as when a model writes."""
    total = torch.zeros(())
    for some in _spread(tokens, block, most):
        given, wanted = windows(tokens, some, block)
        for length in range(1, block + 1):
            total += nn.functional.cross_entropy(model(given[:, :length])[:, -1], wanted[:, length - 1]) * len(some)
    return total.item() / block / min(most, len(tokens) // block)


def _spread(tokens: np.ndarray, block: int, most: int) -> list[np.ndarray]:
    """Where at most `most` windows begin, side by side or spread evenly, in portions that fit a cache."""
    starts = np.arange(0, len(tokens) - block, block)
    starts = starts[np.linspace(0, len(starts) - 1, min(most, len(starts))).astype(np.int64)]
    return np.array_split(starts, -(-len(starts) // 4096))


def write(name: str, model: nn.Module, size: Size, tokenizer: Characters, prompt: str, count: int) -> str:
    """Return `prompt` and what a trained rung of that name writes after it, `count` characters."""
    held = Loaded(model, tokenizer, size, name, step=0, validation_loss=None, folder=Path())
    return sample(held, prompt, tokens=count)[0]
