"""The processes that train one model together, as `torchrun` starts them; one process alone is a world of one.

Each process holds the whole model, reads its slice of the same global batch and averages its gradients with the others,
so that all make the same update and the loss curve is that of one process. Only the first process writes.
"""

import os
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from edgewise.errors import ArgumentError, EdgewiseError, RunError
from edgewise.training.choices import choose_device

__all__ = ["PeerGoneError", "World", "join"]

T = TypeVar("T")


class PeerGoneError(RunError):
    """Another process of the run has died."""


# A process that dies is noticed at once, by its closed connection; this is for the first one encoding a large text.
PATIENCE = timedelta(hours=6)


@dataclass(frozen=True)
class World:
    """This process among those that train together: `rank` of `size`, and the device it computes on."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.rank == 0

    def mean_(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its mean over the processes, in one exchange for each dtype; all get the same bits."""
        if self.size == 1:
            return
        for dtype in sorted({tensor.dtype for tensor in tensors}, key=str):
            alike = [tensor for tensor in tensors if tensor.dtype == dtype]
            flat = torch.cat([tensor.detach().reshape(-1) for tensor in alike])
            self._exchange(dist.all_reduce, flat)
            flat /= self.size
            for tensor, part in zip(alike, flat.split([tensor.numel() for tensor in alike]), strict=True):
                tensor.detach().copy_(part.view_as(tensor))

    def any(self, flag: bool) -> bool:
        """Return whether `flag` is true in some process."""
        if self.size == 1:
            return flag
        seen = torch.tensor([float(flag)], device=self.device)
        self._exchange(dist.all_reduce, seen)
        return bool(seen.item())

    def share(self, work: Callable[[], T]) -> T:
        """Return what `work` returns in the first process, which alone does it, to all.

        Where it raises a mistake, the first process raises it and says it, and the others leave without a word.
        """
        if self.size == 1:
            return work()
        answer: list[Any] = [None, False]
        mistake: EdgewiseError | None = None
        if self.first:
            try:
                answer = [work(), True]
            except EdgewiseError as error:
                mistake = error
        self._exchange(dist.broadcast_object_list, answer)
        if mistake is not None:
            raise mistake
        if not answer[1]:
            sys.exit(2)
        return answer[0]

    def slice(self, count: int) -> slice:
        """Return this process's share of `count` windows.

        Raises:
            ArgumentError: they cannot be shared out evenly.
        """
        if count % self.size:
            raise ArgumentError(
                f"batch must be a multiple of the {self.size} processes that share it; got {count}; "
                f"try {-(-count // self.size) * self.size}"
            )
        share = count // self.size
        return slice(self.rank * share, (self.rank + 1) * share)

    def refuse(self, error: EdgewiseError) -> NoReturn:
        """Raise a mistake that every process has found, in the one that speaks; the others leave without a word."""
        if self.first:
            raise error
        sys.exit(2)

    def _exchange(self, work: Callable[..., Any], what: Any) -> None:
        try:
            work(what)
        except RuntimeError as error:
            raise PeerGoneError(f"another process of this run has gone, so process {self.rank} stops too") from error


@contextmanager
def join(wanted: str) -> Generator[World]:
    """Join the processes that torchrun started, for as long as the context lasts; alone where there are none.

    Raises:
        RunError: the others cannot be reached.
    """
    device = choose_device(wanted).value
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or "MASTER_ADDR" not in os.environ:
        yield World(device=torch.device(device))
        return
    here = torch.device(device)
    if here.type == "cuda":
        here = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(here)
    # Objects and flags of the host go by gloo whatever the device of the model.
    backend = "cpu:gloo,cuda:nccl" if here.type == "cuda" else "gloo"
    try:
        dist.init_process_group(backend, timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise RunError(
            f"process {rank} of {size} on {socket.gethostname()} cannot reach the others: {error}"
        ) from error
    try:
        yield World(rank, size, here)
    finally:
        dist.destroy_process_group()
