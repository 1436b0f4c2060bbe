"""What a target may change for everybody, put back after each call; and what it prints, kept from the report."""

import io
import random
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout

import numpy as np
import torch

__all__ = ["settled", "undisturbed"]


class _Nowhere(io.TextIOBase):
    """What is printed hundreds of times is read by nobody, and would stand in the midst of the JSON."""

    def write(self, text: str, /) -> int:
        return len(text)

    def writable(self) -> bool:
        return True


@contextmanager
def undisturbed() -> Generator[None]:
    """Afterwards, all random numbers go on from where they were."""
    python, numbers = random.getstate(), np.random.get_state(legacy=False)
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)


@contextmanager
def settled() -> Generator[None]:
    """While this lasts, nothing is printed; afterwards torch's settings for everybody are what they were."""
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        with redirect_stdout(_Nowhere()):
            yield
    finally:
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            # None first: a default that is set, be it the usual one, stands in the way of torch's fast paths.
            torch.set_default_device(None)
        if torch.get_default_device() != device:
            torch.set_default_device(device)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if torch.are_deterministic_algorithms_enabled() != strict:
            torch.use_deterministic_algorithms(strict, warn_only=warned)
