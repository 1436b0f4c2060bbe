"""One sitting of a run: from its last checkpoint to its end, or to what cuts it off, which is told with the way on."""

import re
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from edgewise.errors import EdgewiseError, MissingError, RunError
from edgewise.ladder import rung
from edgewise.training.checkpoint import Checkpoint, Progress, sweep, write, write_atomically
from edgewise.training.choices import How
from edgewise.training.curves import draw_curves
from edgewise.training.data import Corpus
from edgewise.training.distributed import PeerGoneError, World
from edgewise.training.folder import RunFolder
from edgewise.training.loop import Loop
from edgewise.training.metrics import Metrics, TensorBoard
from edgewise.training.progress import duration
from edgewise.training.step import Step
from edgewise.training.watch import Watcher

__all__ = ["Session", "memory_told"]


class Session:
    """This process at work on a run; `watch` is told, in the first process alone."""

    def __init__(self, run: RunFolder, world: World, how: How, watch: Watcher) -> None:
        self.run, self.world, self.how = run, world, how
        self.watch = watch if world.first else Watcher()
        self.about = run.about()

    def go_on(self) -> Progress:
        """Do the steps that are left, and say at the end what there is.

        Raises:
            RunError: the loss is no number, the disk is full, another process has gone or is at work on this run.
            KeyboardInterrupt: Ctrl-C; what is done is saved.
        """
        with _threads(self.about.threads), self._told(), self.run.held(self.world.first):
            loop = self._loop()
            if loop.progress.step:
                self.watch.say(f"resumed    {self.run.path} after step {loop.progress.step}")
            if loop.progress.step < self.about.recipe.steps:
                loop = self._run(loop)
            else:
                self.watch.say(f"finished   all {self.about.recipe.steps} steps are done; more with --steps")
            if self.world.first:
                self._conclude(loop.progress)
            return loop.progress

    def _run(self, loop: Loop) -> Loop:
        """Run a loop; where the compiler turns out not to work, run it again without."""
        if self.about.compiled:
            self.watch.say("compiling  the first step takes half a minute or so")
        try:
            loop.run()
        except RuntimeError as error:
            if not (self.about.compiled and _of_the_compiler(error)):
                raise
            reason = str(error).strip().splitlines()[0]
            if self.world.size > 1:
                raise RunError(f"compiling failed ({reason}); begin again with --compiled no") from error
            self.watch.say(f"compiled   no after all, compiling failed ({reason})")
            self.about = replace(self.about, compiled=False)
            write_atomically(self.run.path / "run.json", self.about.to_json())
            loop = self._loop()
            loop.run()
        return loop

    def _loop(self) -> Loop:
        """Return the loop in the state of the last checkpoint, or at its beginning where there is none."""
        about, path = self.about, self.run.path
        corpus = self._corpus()
        model = rung(about.rung).build(about.size, seed=about.recipe.seed).to(self.world.device)
        step = Step(model, about.recipe, precision=about.precision, compiled=about.compiled, world=self.world)
        loop = Loop(model, corpus, about.size.block, about.recipe, step, self.world, self._watchers(), self._keep)
        loop.keep_seconds, loop.kept_where = self.how.save_seconds, str(path / "last.safetensors")
        if self.world.first:
            sweep(path)
        checkpoint, note = self.run.checkpoint("last")
        if note:
            self.watch.say(f"note       {note}")
        if checkpoint is not None:
            if not checkpoint.step:
                raise RunError(
                    f"{path} holds weights only, without the optimiser's state: sample it, it cannot be resumed"
                )
            loop.restore(checkpoint)
        return loop

    def _corpus(self) -> Corpus:
        file, about = self.run.path / "tokens.bin", self.about
        if not file.is_file():
            raise MissingError(
                f"wanted the tokens of the run; there is no file {file}; all processes must see the run folder"
            )
        corpus = Corpus.open(file, about.held_out, about.token_kind)
        if len(corpus.tokens) != about.tokens:
            raise RunError(f"{file} is damaged: it holds {len(corpus.tokens)} tokens, and run.json says {about.tokens}")
        return corpus

    def _watchers(self) -> Sequence[Watcher]:
        watchers = [self.watch, Metrics(self.run.path / "metrics.jsonl")]
        return [*watchers, TensorBoard(self.run.path / "tensorboard")] if self.how.tensorboard else watchers

    def _keep(self, checkpoint: Checkpoint, best: bool) -> None:
        # The best first: a kill between the two then repeats its evaluation instead of forgetting it.
        for name in ("best", "last") if best else ("last",):
            write(self.run.path / f"{name}.safetensors", checkpoint)

    def _conclude(self, progress: Progress) -> None:
        self.watch.say(
            f"done       {progress.step} steps in {duration(progress.seconds)}; "
            f"validation {progress.validation_loss:.4f}, best {progress.best_loss:.4f} at step {progress.best_step}"
        )
        pictures = draw_curves(self.run.path, f"{self.about.rung} on {self.about.text}")
        self.watch.say(f"picture    {' and '.join(str(picture) for picture in pictures)}")
        start = self.run.tokenizer().decode(self._corpus().tokens[:200].tolist())
        word = re.search(r"\w{2,}", start)
        prompt = f" --prompt {shlex.quote(word[0])}" if word else ""
        self.watch.say(f"next       edgewise sample {shlex.quote(str(self.run.path))}{prompt}")

    @contextmanager
    def _told(self) -> Generator[None]:
        """Say the way on where something from outside cuts the run off."""
        command = f"edgewise train --resume {shlex.quote(str(self.run.path))}"
        try:
            with memory_told():
                yield
        except PeerGoneError as error:
            raise RunError(f"{error}; resume with: {command}") from error
        except (EdgewiseError, BrokenPipeError):
            raise
        except OSError as error:
            raise RunError(
                f"the run folder {self.run.path} cannot be written ({error.strerror or error}); resume with: {command}"
            ) from error
        except (KeyboardInterrupt, SystemExit):
            self.watch.say(f"resume     {command}")
            raise


@contextmanager
def memory_told() -> Generator[None]:
    """Turn the device's lack of memory into a mistake that says what to try."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise RunError(
            "the device has too little memory for a step; "
            "try a smaller --batch with more --accumulate, or a smaller --size"
        ) from error


@contextmanager
def _threads(count: int) -> Generator[None]:
    """Compute with as many threads as the run began with: sums in another order would give other bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _of_the_compiler(error: RuntimeError) -> bool:
    # By name: to import torch._dynamo takes seconds, for a run that may never compile.
    return any(kind.__module__.startswith(("torch._dynamo", "torch._inductor")) for kind in type(error).__mro__)
