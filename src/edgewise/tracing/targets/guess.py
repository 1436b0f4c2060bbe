"""What a model that nobody describes may be given: found from its first layers, or from the names it takes."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["Offer", "guessed"]

LENGTH, HEADS, WIDTH, SIDE = 12, 4, 16, 32


class Offer(NamedTuple):
    """Something to read, and what it is in words."""

    inputs: Any
    reads: str


def guessed(model: Callable[..., Any], dtype: torch.dtype | None, device: str, seed: int = 0) -> Offer:
    """The first offer that the model accepts; nothing, where it accepts none.

    Args:
        model: a module or a function.
        dtype: of numbers; None for the model's own.
        device: where it runs.
        seed: of the random numbers.
    """
    first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    kind = dtype or (first.dtype if first is not None and first.is_floating_point() else torch.float32)
    for inputs, reads in _offers(model, torch.Generator().manual_seed(seed)):
        moved = tuple(one.to(device, kind if one.is_floating_point() else None) for one in inputs)
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=()):
                model(*moved)
        except (Exception, SystemExit):  # whatever its code raises, the next is tried
            continue
        return Offer(moved, reads)
    return Offer(None, "")


def _offers(model: Callable[..., Any], chance: torch.Generator) -> Iterator[tuple[tuple[Tensor, ...], str]]:
    if not isinstance(model, nn.Module):
        shape = (1, HEADS, LENGTH, WIDTH)
        yield tuple(torch.randn(*shape, generator=chance) for _ in range(3)), "random query, key and value"
        yield (torch.randn(1, LENGTH, HEADS * WIDTH, generator=chance),), "random vectors"
        return
    several = len(inspect.signature(model.forward).parameters)
    for layer in model.modules():
        if isinstance(layer, nn.Embedding):
            words = torch.randint(layer.num_embeddings, (1, LENGTH), generator=chance)
            yield (words,), "random tokens"
            yield (words, words.roll(1, 1)), "random tokens, twice"
        elif isinstance(layer, nn.Conv2d):
            yield (torch.randn(1, layer.in_channels, SIDE, SIDE, generator=chance),), "a random image"
            yield (torch.randn(1, layer.in_channels, 224, 224, generator=chance),), "a random image"
        else:
            width = _width(layer)
            if width is not None:
                vectors = torch.randn(1, LENGTH, width, generator=chance)
                yield (vectors,), "random vectors"
                if several > 1:
                    yield (vectors, vectors.flip(1)), "random vectors, twice"
                    yield (vectors,) * 3, "random vectors as query, key and value"


def _width(layer: nn.Module) -> int | None:
    for name in ("embed_dim", "in_features", "normalized_shape"):
        found = getattr(layer, name, None)
        if isinstance(found, tuple) and found:
            found = found[-1]
        if isinstance(found, int):
            return found
    return None
