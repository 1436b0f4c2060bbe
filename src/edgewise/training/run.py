"""`train`: from a text to a trained model in a run folder; `resume`: on from where a run was cut off."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgewise.errors import ArgumentError
from edgewise.ladder import Size
from edgewise.training.checkpoint import Progress, write_atomically
from edgewise.training.choices import How
from edgewise.training.distributed import World, join
from edgewise.training.folder import About, Loaded, RunFolder, Which, load
from edgewise.training.prepare import Plan, prepare
from edgewise.training.progress import watcher_for
from edgewise.training.recipe import Recipe
from edgewise.training.session import Session, memory_told
from edgewise.training.sizes import named_size
from edgewise.training.watch import Watcher

__all__ = ["Run", "resume", "train"]


@dataclass(frozen=True)
class Run:
    """A run that has come to its end, and where it lies."""

    folder: Path
    about: About
    progress: Progress

    def load(self, which: Which = "best") -> Loaded:
        """Return its model, ready to write."""
        return load(self.folder, which)


def train(
    paths: str | Path | Sequence[str | Path] | None = None,
    *,
    rung: str = "gpt",
    size: str | Size = "small",
    recipe: Recipe | None = None,
    tokens: str = "characters",
    validation: float = 0.1,
    out: str | Path | None = None,
    how: How | None = None,
    watch: Watcher | None = None,
) -> Run:
    """Train a rung of the ladder on a text and return the run, whose folder has everything of it.

    Args:
        paths: files, folders, globs, or "-" for standard input; None takes a default text and says which.
        rung: the model, by its name on the ladder.
        size: a name, or a Size; its vocabulary is set from the text.
        recipe: how it is trained.
        tokens: "characters", "pairs" (byte pairs learnt from the text, "pairs:2048" for that many), or the path of a
            tokenizer.json.
        validation: the part of the text, at its end, that is held out.
        out: the run folder to make; None takes the next free `runs/NAME-n`.
        how: where and how fast; None chooses and says why.
        watch: hears of everything; None writes to standard output.

    Raises:
        MissingError: a text, a tokenizer or an optional package is not there.
        DataError: the text cannot be trained on.
        ArgumentError: a rung, a size, or a number is not possible.
        RunError: the run folder is taken, the loss is no number, or another process has gone.
        KeyboardInterrupt: Ctrl-C; what is done is saved.
    """
    named = [paths] if isinstance(paths, (str, Path)) else list(paths or [])
    wanted = named_size(size) if isinstance(size, str) else size
    plan = Plan(named, rung, wanted, recipe or Recipe(), tokens, validation, out, how or How())
    watch = watch or watcher_for(sys.stdout)
    with join(plan.how.device) as world:
        world.slice(plan.recipe.batch)
        with memory_told():
            folder = world.share(lambda: prepare(plan, world, watch))
        return _sit(RunFolder(folder), world, plan.how, watch)


def resume(
    folder: str | Path, *, steps: int | None = None, how: How | None = None, watch: Watcher | None = None
) -> Run:
    """Go on with a run from its last checkpoint, bit for bit as if it had not been cut off, and return it.

    Args:
        folder: the run folder; text, size, recipe, device, precision and threads are those it began with.
        steps: another end, which also stretches the learning rate's way down to it.
        how: only `save_seconds` and `tensorboard` count.
        watch: hears of everything; None writes to standard output.

    Raises:
        MissingError: this is not a run folder.
        RunError: it is damaged, or a newer version's; or as for `train`.
    """
    run, how, watch = RunFolder(Path(folder)), how or How(), watch or watcher_for(sys.stdout)
    about = run.about()
    with join(about.device) as world:
        if steps is not None and steps != about.recipe.steps:
            world.share(lambda: _stretch(run, about, steps))
        return _sit(run, world, how, watch)


def _stretch(run: RunFolder, about: About, steps: int) -> None:
    """Give a run another end."""
    last, _ = run.checkpoint("last")
    if last is not None and steps <= last.progress.step:
        raise ArgumentError(
            f"steps must be more than the {last.progress.step} that {run.path} has done already; got {steps}"
        )
    longer = replace(about, recipe=replace(about.recipe, steps=steps))
    write_atomically(run.path / "run.json", longer.to_json())


def _sit(run: RunFolder, world: World, how: How, watch: Watcher) -> Run:
    session = Session(run, world, how, watch)
    progress = session.go_on()
    return Run(run.path, session.about, progress)
