"""Training that was started from a page: it goes on in a thread, whoever looks, until it is done or stopped."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from edgewise.errors import ArgumentError
from edgewise.views.live import Live
from edgewise.views.runs import Runs
from edgewise.views.scene import scene

__all__ = ["Trainings"]

LONGEST = 20_000
"""Steps that a page may ask for."""


@dataclass(eq=False)
class _Training:
    rung: str
    steps: int
    stop: threading.Event = field(default_factory=threading.Event)
    told: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    state: str = "running"
    why: str = ""

    def said(self, name: int, since: int) -> dict[str, Any]:
        about = {"id": name, "rung": self.rung, "steps": self.steps, "state": self.state, "why": self.why}
        return about | {"told": self.told[since:]}


class Trainings:
    """The trainings of a server; one runs at a time."""

    def __init__(self, live: Live, runs: Runs) -> None:
        self._live, self._runs = live, runs
        self._all: list[_Training] = []
        self._lock = threading.Lock()

    def start(self, rung: str, steps: int) -> dict[str, Any]:
        """Start to train a rung.

        Raises:
            ArgumentError: one is running already, or there are too many steps.
        """
        if not 1 <= steps <= LONGEST:
            raise ArgumentError(f"steps must be from 1 to {LONGEST:,}; got {steps}")
        with self._lock:
            if any(one.state == "running" for one in self._all):
                raise ArgumentError("a training is running already: stop it first, or wait for its end")
            one = _Training(rung, steps)
            self._all.append(one)
            name = len(self._all) - 1
        threading.Thread(target=self._run, args=(one,), daemon=True, name=f"training {rung}").start()
        return one.said(name, 0)

    def said(self, name: int, since: int) -> dict[str, Any]:
        """How a training stands, with what was told since.

        Raises:
            ArgumentError: there is no such training.
        """
        return self._found(name).said(name, max(0, since))

    def all(self) -> list[dict[str, Any]]:
        """Every training, without what was told."""
        return [one.said(name, len(one.told)) for name, one in enumerate(self._all)]

    def stop(self, name: int) -> dict[str, Any]:
        """Stop a training.

        Raises:
            ArgumentError: there is no such training.
        """
        self._found(name).stop.set()
        return self.said(name, 1 << 62)

    def stop_all(self) -> None:
        """Stop every training."""
        for one in self._all:
            one.stop.set()

    def _found(self, name: int) -> _Training:
        if not 0 <= name < len(self._all):
            raise ArgumentError(f"there is no training {name}")
        return self._all[name]

    def _run(self, one: _Training) -> None:
        stopped: Callable[[], bool] = one.stop.is_set
        try:
            for now in self._live.train(one.rung, one.steps, stopped):
                told: dict[str, Any] = {"step": now.step, "loss": now.loss, "validation": now.validation}
                told |= {"sample": now.sample, "text": now.text}
                if now.seen is not None:
                    told["run"] = self._runs.add(now.seen, "training")
                    told["scene"] = scene(now.seen.record, self._live.can, now.seen.output)
                one.told.append(told)
                if stopped():
                    break
            one.state = "stopped" if stopped() else "done"
        except Exception as error:  # a model may raise anything: it is told to the page, and the server goes on
            one.state, one.why = "failed", f"{type(error).__name__}: {error}"
