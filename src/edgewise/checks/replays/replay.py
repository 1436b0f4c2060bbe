"""Python that shows a fault again: two inputs and what must not differ, or where that is not to be said so, the check.

What is printed has been run: a replay that does not fail while the fault is there is not given out.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from edgewise.checks.calls.subject import Subject
from edgewise.checks.causes.shrink import Smallest
from edgewise.checks.finding import Observation
from edgewise.checks.replays.inputs import bodies
from edgewise.checks.replays.numbers import numbers
from edgewise.graphs import Graph
from edgewise.tracing import as_written

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["Origin", "replay"]


@dataclass(frozen=True)
class Origin:
    """Where a target came from, and what `check` was told of it."""

    name: str = ""
    """By which it can be found again; "" where it was handed over."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def load(self) -> str:
        """The lines that make `model`."""
        if not self.name:
            return "# model is the target: what was handed to edgewise.check"
        if self.name.startswith("tiny "):
            words = f"tiny_target({self.name.removeprefix('tiny ')!r}{self._seed()})"
            return f"from edgewise.tracing import tiny_target\n\nmodel = {words}.model"
        return f"from edgewise.tracing import target\n\nmodel = target({self.name!r}).model"

    def _seed(self) -> str:
        return f", seed={self.options['seed']}" if self.options.get("seed") else ""

    def told(self) -> str:
        """What `check` was told, as it is written."""
        return "".join(f", {name}={_written(value)}" for name, value in self.options.items())


def replay(cause: Observation, lab: "Lab", origin: Origin, smallest: Smallest | None) -> str:
    """Return Python that fails while the fault is there.

    Args:
        cause: what was found.
        lab: where.
        origin: of the target.
        smallest: the smallest input that shows it, if one is known.
    """
    tries = [(cause, lab)] if smallest is None else [(smallest.seen, smallest.lab), (cause, lab)]
    for seen, where in tries:
        for body in _tried(seen, where):
            if _fails(body, lab.subject):
                copied = "import copy\n\n" if "copy." in body else ""
                return f"{copied}import torch\n{origin.load()}\n{body}"
    only = replace(origin, options={"only": [cause.property], **origin.options})
    return f"import edgewise\n{origin.load()}\n\nedgewise.check(model{only.told()}).raise_for_failures()"


def _tried(seen: Observation, lab: "Lab") -> Iterator[str]:
    """What may show it; where one way of writing it fails, what came before, and the check itself shows it."""
    try:
        yield from numbers(seen, lab)
        yield from bodies(seen, lab)
    except Exception:  # a replay is an addition: what was found stands without
        return


def _fails(body: str, subject: Subject) -> bool:
    """Whether running it raises AssertionError, which is how it shows the fault; a model that it changes is a copy."""
    target = copy.deepcopy(subject.target) if "model.set_" in body else subject.target
    try:
        with torch.random.fork_rng(devices=()), as_written():  # compiled, some of flex attention ends the process
            exec(compile(body, "<replay>", "exec"), {"torch": torch, "copy": copy, "model": target})
    except AssertionError:
        return True
    except Exception:  # a call that cannot be written in these words is not written so
        return False
    return False


def _written(value: Any) -> str:
    return repr(repr(value)) if isinstance(value, Graph) else repr(value)
