"""What a run chooses for itself, each with its reason, unless it was told: device, precision, compiling."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch

from edgewise.errors import ArgumentError

__all__ = ["Choice", "How", "choose_compiling", "choose_device", "choose_precision"]

Precision = Literal["float32", "bfloat16"]
# Below this the gain may be noise of the trial, and float32 is the safer of two equals.
WORTH = 1.15
# What compiling costs at first, and the part of a step that it saves.
COMPILING_SECONDS, COMPILING_SAVES = 25.0, 0.3


@dataclass(frozen=True)
class How:
    """Where and how fast a run runs, and what it leaves behind; none of it changes what is learnt beyond rounding.

    Raises:
        ArgumentError: a word or number outside its range.
    """

    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    compiled: Literal["auto", "yes", "no"] = "auto"
    save_seconds: float = 60.0
    tensorboard: bool = False

    def __post_init__(self) -> None:
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ArgumentError(f"precision must be auto, float32 or bfloat16; got {self.precision!r}")
        if self.compiled not in ("auto", "yes", "no"):
            raise ArgumentError(f"compiled must be auto, yes or no; got {self.compiled!r}")
        if not self.save_seconds > 0:
            raise ArgumentError(f"save_seconds must be above 0; got {self.save_seconds}")


class Choice(NamedTuple):
    """A choice and the reason for it."""

    value: str
    why: str


def choose_device(wanted: str) -> Choice:
    """Return the device to train on.

    Raises:
        ArgumentError: there is no such device here.
    """
    if wanted == "auto":
        if torch.cuda.is_available():
            return Choice("cuda", f"a GPU is here ({torch.cuda.get_device_name()})")
        return Choice("cpu", f"no GPU is here; {torch.get_num_threads()} threads")
    if wanted != "cpu" and not (wanted.startswith("cuda") and torch.cuda.is_available()):
        raise ArgumentError(
            f"device must be auto, cpu or, where a GPU is, cuda; got {wanted!r}, and here is no such device"
        )
    return Choice(wanted, "as asked")


def choose_precision(wanted: str, seconds: Callable[[Precision], float]) -> Choice:
    """Return the precision of the forward and backward pass; `seconds` does a short trial and returns a step's time."""
    if wanted != "auto":
        return Choice(wanted, "as asked")
    slow, fast = seconds("float32"), seconds("bfloat16")
    ratio = slow / fast
    if ratio >= WORTH:
        return Choice("bfloat16", f"a trial step took {fast * 1e3:.1f} ms, in float32 {slow * 1e3:.1f} ms")
    return Choice(
        "float32", f"a trial step took {slow * 1e3:.1f} ms, in bfloat16 {fast * 1e3:.1f} ms: too little gained"
    )


def choose_compiling(wanted: str, steps: int, seconds: Callable[[], float], device: str) -> Choice:
    """Return "yes" or "no" for torch.compile; `seconds` returns the time of a step that is not compiled."""
    if wanted == "no":
        return Choice("no", "as asked")
    if not _has_compiler(device):
        return Choice("no", "there is no C++ compiler here (g++ or clang++)")
    if wanted == "yes":
        return Choice("yes", "as asked")
    gain = steps * seconds() * COMPILING_SAVES
    if gain > COMPILING_SECONDS:
        return Choice(
            "yes", f"{steps} steps save about {gain:.0f} s by it, and it costs about {COMPILING_SECONDS:.0f} s"
        )
    return Choice(
        "no", f"{steps} steps would save about {gain:.0f} s by it, and it costs about {COMPILING_SECONDS:.0f} s"
    )


def _has_compiler(device: str) -> bool:
    if device.startswith("cuda"):
        return True  # Triton brings its own
    return any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "g++", "clang++"))


def timed(step: Callable[[], object], times: int = 3) -> float:
    """Return the seconds of the fastest of a few steps, after one to warm up."""
    step()
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begun)
    return best
