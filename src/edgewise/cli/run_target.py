"""A run folder of our own trainer as a model to look at: here the ladder and tracing meet."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from edgewise.errors import ArgumentError
from edgewise.tracing import Target
from edgewise.training import load
from edgewise.training.tokens import Tokenizer

__all__ = ["Reader", "run_target"]


class Reader:
    """A tokenizer of the trainer as tracing wants one."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def ids(self, text: str) -> list[int]:
        """The tokens of a text."""
        return [int(one) for one in self._tokenizer.encode(text)]

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The text of each token."""
        return tuple(self._tokenizer.decode_bytes([one]).decode("utf-8", errors="replace") for one in ids)


def run_target(folder: str, *, dtype: torch.dtype | None, device: str) -> Target:
    """Return the model of a run, which goes on from a text by the likeliest token each time, its cache kept.

    Raises:
        MissingError: it is no run folder, or has no checkpoint.
        RunError: it is damaged.
    """
    run = load(folder)
    model: Any = run.model.to(device=device, dtype=dtype).eval()

    def write(ids: Tensor, many: int) -> tuple[Tensor, list[Tensor]]:
        if ids.shape[1] + many > run.size.block:
            raise ArgumentError(
                f"{folder} reads at most {run.size.block} tokens; got {ids.shape[1]} to read and {many} to write"
            )
        cache = model.new_cache() if hasattr(model, "new_cache") else None
        found: list[Tensor] = []
        fresh = ids
        for _ in range(many):
            logits = (model(fresh, cache) if cache is not None else model(ids))[:, -1]
            found.append(logits)
            fresh = logits.argmax(-1, keepdim=True)
            ids = torch.cat([ids, fresh], dim=1)
        return ids, found

    return Target(folder, model, Reader(run.tokenizer), write=write)
