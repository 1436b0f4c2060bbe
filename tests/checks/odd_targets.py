"""Targets that behave badly, each in one way; all else of them is causal attention that is right."""

import random
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Right(nn.Module):
    """Causal attention over four heads."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(16, 48).double()

    def attend(self, x: Tensor) -> Tensor:
        query, key, value = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(2)

    def forward(self, x: Tensor) -> Any:
        return self.attend(x)


class Raises(Right):
    def forward(self, x: Tensor) -> Any:
        raise ValueError("no kernel for this\nand a second line")


class Unprintable(Right):
    def forward(self, x: Tensor) -> Any:
        class Mute(Exception):  # noqa: N818
            def __str__(self) -> str:
                raise RuntimeError("no text")

        raise Mute


class RaisesForOne(Right):
    def forward(self, x: Tensor) -> Any:
        if len(x) == 1:
            raise ValueError("a batch of one is not taken")
        return self.attend(x)


class ExitsForOne(Right):
    def forward(self, x: Tensor) -> Any:
        if len(x) == 1:
            sys.exit(3)
        return self.attend(x)


class RaisesForWeights(Right):
    def forward(self, x: Tensor, weights: bool = False) -> Any:
        if weights:
            raise ValueError("weights cannot be had")
        return self.attend(x)


class GivesNaN(Right):
    def forward(self, x: Tensor) -> Any:
        return self.attend(x) * float("nan")


class GivesInfinity(Right):
    def forward(self, x: Tensor) -> Any:
        return self.attend(x) + float("inf")


class NaNForOne(Right):
    def forward(self, x: Tensor) -> Any:
        return self.attend(x) * (float("nan") if len(x) == 1 else 1)


class GivesTuple(Right):
    def forward(self, x: Tensor) -> Any:
        return self.attend(x), {"loss": 1}


class GivesDict(Right):
    def forward(self, x: Tensor) -> Any:
        return {"steps": 3, "out": self.attend(x)}


class GivesNothing(Right):
    def forward(self, x: Tensor) -> Any:
        self.attend(x)


class GivesScalar(Right):
    def forward(self, x: Tensor) -> Any:
        return self.attend(x).sum()


class GivesSteps(Right):
    def forward(self, x: Tensor) -> Any:
        yield self.attend(x)


class Shortens(Right):
    def forward(self, x: Tensor) -> Any:
        return self.attend(x)[:, :-1]


class Needs(Right):
    def forward(self, x: Tensor, *, flavour: Any) -> Any:
        return self.attend(x) * flavour.factor


class Mutates(Right):
    def forward(self, x: Tensor) -> Any:
        out = self.attend(x)
        x.zero_()
        return out


class Draws(Right):
    """Whose random numbers can be held still."""

    def forward(self, x: Tensor) -> Any:
        return self.attend(x) + torch.randn_like(x) * random.random() * float(np.random.rand())


class Drifts(Right):
    """Whose random numbers cannot."""

    def forward(self, x: Tensor) -> Any:
        chance = torch.Generator().manual_seed(time.perf_counter_ns() % 2**31)
        return self.attend(x) + torch.randn(x.shape, generator=chance, dtype=x.dtype)


class Learns(Right):
    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            self.project.weight.mul_(1.01)
        return self.attend(x)


class Sleeps(Right):
    def forward(self, x: Tensor) -> Any:
        time.sleep(100)
        return self.attend(x)


class Slow(Right):
    def forward(self, x: Tensor) -> Any:
        time.sleep(0.05)
        return self.attend(x)


class OutOfMemory(Right):
    def forward(self, x: Tensor) -> Any:
        raise MemoryError


class OutOfTorchMemory(Right):
    def forward(self, x: Tensor) -> Any:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: not enough memory: 8 bytes")


class Weightless(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True)[:, 0]


class Constant(Right):
    def forward(self, x: Tensor) -> Any:
        return torch.zeros_like(x)


class Prints(Right):
    def forward(self, x: Tensor) -> Any:
        sys.stdout.write("hello from the model\n")
        return self.attend(x)


class Exits(Right):
    def forward(self, x: Tensor) -> Any:
        sys.exit(3)


class Warns(Right):
    def forward(self, x: Tensor) -> Any:
        warnings.warn("careful", stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return self.attend(x)


class Meddles(Right):
    """Changes what belongs to everybody."""

    def forward(self, x: Tensor) -> Any:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_grad_enabled(True)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        warnings.simplefilter("error")
        return self.attend(x)


class Hooked(Right):
    """Has hooks of its own, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self.register_forward_hook(lambda *_: setattr(self, "seen", self.seen + 1))
        self.register_forward_pre_hook(lambda _, given: (given[0] * 2,))
        self.project.register_full_backward_hook(lambda *_: None)


class HookRaises(Right):
    def __init__(self) -> None:
        super().__init__()
        self.project.register_forward_hook(self.refuse)

    def refuse(self, *_: Any) -> None:
        raise RuntimeError("the hook says no")


class NoBatch(Right):
    def forward(self, x: Tensor) -> Any:
        if x.dim() != 2:
            raise ValueError("wanted (tokens, channels)")
        return self.attend(x[None])[0]


class Endless(Right):
    def forward(self, x: Tensor) -> Any:
        return self.forward(x)


class NoForward(nn.Module):
    pass


class NoArguments(nn.Module):
    def forward(self) -> Any:
        return torch.zeros(3)


def raises(q: Tensor, k: Tensor, v: Tensor) -> Any:
    raise ValueError("no")


def nothing(q: Tensor, k: Tensor, v: Tensor) -> Any:
    return None


def fails() -> nn.Module:
    raise OSError("no such weights")


def exits() -> nn.Module:
    sys.exit("bye")


number = 3
