"""The loop: windows in, steps, evaluations, checkpoints; until the steps are done, the loss is no number, or Ctrl-C.

All that a step depends on is the state that checkpoints hold and numbers computed from (seed, step), so that a run cut
off anywhere goes on from its last checkpoint bit for bit.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from edgewise.errors import RunError
from edgewise.training.checkpoint import Checkpoint, Progress
from edgewise.training.data import Corpus, windows
from edgewise.training.distributed import World
from edgewise.training.recipe import Recipe
from edgewise.training.step import Step
from edgewise.training.stopping import Stopping
from edgewise.training.watch import Evaluated, Stepped, Watcher

__all__ = ["Loop", "fit"]

CHUNK = 64  # validation windows in one forward pass
Keep = Callable[[Checkpoint, bool], None]


@dataclass(eq=False)
class Loop:
    """A model, what it learns from and how; `run` does the work.

    `keep` gets each checkpoint and whether it is the best so far; `kept_where` is what an error calls the last of them.
    """

    model: nn.Module
    corpus: Corpus
    block: int
    recipe: Recipe
    step: Step
    world: World = field(default_factory=World)
    watchers: Sequence[Watcher] = ()
    keep: Keep | None = None
    keep_seconds: float = 60.0
    kept_where: str = ""
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self._share = self.world.slice(self.recipe.batch)
        self._pending: list[tuple[int, Tensor, Tensor]] = []
        self._since: list[float] = []
        self._clock = self._flushed = self._kept = time.perf_counter()
        self._spent = self.progress.seconds

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back, or forward, to the state of a checkpoint."""
        self.model.load_state_dict(checkpoint.model)
        self.step.load_state_dict(checkpoint.step)
        self.progress, self._spent = checkpoint.progress, checkpoint.progress.seconds

    def run(self) -> Progress:
        """Do the steps that are left and return how far the run has come.

        Raises:
            RunError: the loss or the gradient is no finite number.
            KeyboardInterrupt: Ctrl-C; what is done is saved.
        """
        self._clock = self._flushed = self._kept = time.perf_counter()
        self._tell(lambda watcher: watcher.begun(self.progress, self.recipe.steps))
        try:
            with torch.random.fork_rng(), Stopping(self.world.first) as stopping:
                if self.progress.validation_loss is None:
                    self._evaluate()
                while self.progress.step < self.recipe.steps:
                    self._one()
                    if self.progress.step % self.recipe.evaluate_every == 0 or self.progress.step == self.recipe.steps:
                        self._evaluate()
                    elif time.perf_counter() - self._kept > self.keep_seconds:
                        self._save(best=False)
                    if self.world.any(stopping.asked is not None):
                        self._save(best=False)
                        self._say(f"stopped after step {self.progress.step}, all of it saved")
                        stopping.leave()
        finally:
            self._tell(lambda watcher: watcher.ended())
        return self.progress

    def starts(self, step: int) -> np.ndarray:
        """Return where the windows of a step begin: one row for each forward pass, over all processes."""
        count = self.recipe.batch * self.recipe.accumulate
        return self.corpus.starts(self.recipe.seed, step, count, self.block).reshape(self.recipe.accumulate, -1)

    def _one(self) -> None:
        step = self.progress.step
        torch.manual_seed(_mixed(self.recipe.seed, step, self.world.rank))
        device = self.world.device
        batches = [windows(self.corpus.training, row[self._share], self.block, device) for row in self.starts(step)]
        loss = self.step(batches, self.recipe.factor(step)).detach().clone()
        self.world.mean_([loss])
        self._pending.append((step, loss, self.step.gradient_norm.detach().clone()))
        self.progress = replace(self.progress, step=step + 1)
        # On an accelerator reading a number waits for the device: read ten at a time.
        if device.type == "cpu" or len(self._pending) >= 10:
            self._flush()

    def _flush(self) -> None:
        """Read the losses that are still on the device, tell of them, and stop at one that is no number."""
        if not self._pending:
            return
        rows = torch.stack([torch.stack([loss.float(), norm.float()]) for _, loss, norm in self._pending]).tolist()
        now = time.perf_counter()
        rate = len(rows) * self.recipe.batch * self.recipe.accumulate * self.block / max(now - self._flushed, 1e-9)
        self._flushed = now
        seconds = self._seconds()
        for (step, _, _), (loss, norm) in zip(self._pending, rows, strict=True):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                self._pending.clear()
                self.world.refuse(self._not_a_number(step, loss, norm))
            self._since.append(loss)
            learning_rate = self.recipe.learning_rate * self.recipe.factor(step)
            told = Stepped(step + 1, loss, learning_rate, norm, rate, seconds)
            self._tell(lambda watcher, told=told: watcher.stepped(told))
        self._pending.clear()

    def _evaluate(self) -> None:
        self._flush()
        loss = self.validation_loss()
        if not math.isfinite(loss):
            self.world.refuse(
                RunError(f"the validation loss is {loss} after step {self.progress.step}; {self._last_good()}")
            )
        before = self.progress.best_loss
        best = before is None or loss < before
        self.progress = replace(self.progress, validation_loss=loss)
        if best:
            self.progress = replace(self.progress, best_loss=loss, best_step=self.progress.step)
        training = sum(self._since) / len(self._since) if self._since else None
        self._since.clear()
        told = Evaluated(self.progress.step, loss, training, best, self._seconds())
        self._tell(lambda watcher: watcher.evaluated(told))
        self._save(best)
        self._flushed = time.perf_counter()

    def validation_loss(self) -> float:
        """Return the mean loss over the validation windows, which are the same every time."""
        starts = self.corpus.validation_starts(self.recipe.evaluate_windows, self.block)
        chunks = [starts[at : at + CHUNK] for at in range(0, len(starts), CHUNK)]
        total = torch.zeros(1, dtype=torch.float64)
        for place, chunk in enumerate(chunks):
            if place % self.world.size == self.world.rank:
                loss = self.step.loss(*windows(self.corpus.validation, chunk, self.block, self.world.device))
                total += loss.double().cpu() * len(chunk)
        self.world.mean_([total])
        return total.item() * self.world.size / len(starts)

    def _save(self, best: bool) -> None:
        self._flush()
        self._kept = time.perf_counter()
        self.progress = replace(self.progress, seconds=self._seconds())
        if self.keep is not None and self.world.first:
            self.keep(Checkpoint(self.model.state_dict(), self.step.state_dict(), self.progress), best)

    def _seconds(self) -> float:
        return self._spent + time.perf_counter() - self._clock

    def _not_a_number(self, step: int, loss: float, norm: float) -> RunError:
        starts = [int(start) for start in self.starts(step).reshape(-1)]
        shown = ", ".join(map(str, starts[:8])) + (", …" if len(starts) > 8 else "")
        what = f"the loss is {loss}" if not math.isfinite(loss) else f"the gradient's norm is {norm}"
        return RunError(
            f"{what} at step {step + 1}, on the windows that begin at training tokens {shown}; {self._last_good()}; "
            f"try a lower learning rate (it is {self.recipe.learning_rate:g}) or more warm-up"
        )

    def _last_good(self) -> str:
        return f"the last good checkpoint is {self.kept_where}" if self.kept_where else "no checkpoint was kept"

    def _say(self, line: str) -> None:
        self._tell(lambda watcher: watcher.say(line))

    def _tell(self, tell: Callable[[Watcher], None]) -> None:
        if self.world.first:
            for watcher in self.watchers:
                tell(watcher)


def fit(
    model: nn.Module,
    corpus: Corpus,
    block: int,
    recipe: Recipe,
    *,
    precision: Literal["float32", "bfloat16"] = "float32",
    watchers: Sequence[Watcher] = (),
) -> Progress:
    """Train a model in place, in this process and without a run folder, and return its losses."""
    return Loop(model, corpus, block, recipe, Step(model, recipe, precision=precision), watchers=watchers).run()


def _mixed(seed: int, step: int, rank: int) -> int:
    return int(np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0] >> 1)
