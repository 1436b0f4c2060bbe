"""`train`: from a text to a trained model in a run folder; `resume`: on from where a run was cut off."""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from edgewise.errors import ArgumentError, MissingError, RunError
from edgewise.ladder import Size, rung
from edgewise.training.checkpoint import Checkpoint, Progress, sweep, write, write_atomically
from edgewise.training.choices import How
from edgewise.training.curves import draw_curves
from edgewise.training.data import Corpus
from edgewise.training.distributed import PeerGoneError, World, join
from edgewise.training.folder import About, Loaded, RunFolder, Which, load
from edgewise.training.loop import Loop
from edgewise.training.metrics import Metrics, TensorBoard
from edgewise.training.prepare import Plan, prepare
from edgewise.training.progress import duration, watcher_for
from edgewise.training.recipe import Recipe
from edgewise.training.sizes import named_size
from edgewise.training.step import Step
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
        folder = world.share(lambda: prepare(plan, world, watch))
        return _go_on(RunFolder(folder), world, plan.how, watch)


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
        return _go_on(run, world, how, watch)


def _stretch(run: RunFolder, about: About, steps: int) -> None:
    """Give a run another end."""
    last, _ = run.checkpoint("last")
    if last is not None and steps <= last.progress.step:
        raise ArgumentError(
            f"steps must be more than the {last.progress.step} that {run.path} has done already; got {steps}"
        )
    longer = replace(about, recipe=replace(about.recipe, steps=steps))
    write_atomically(run.path / "run.json", longer.to_json())


def _go_on(run: RunFolder, world: World, how: How, watch: Watcher) -> Run:
    """Do the steps of a run that are left, from its last checkpoint or from its beginning."""
    about = run.about()
    watchers = [watch, Metrics(run.path / "metrics.jsonl")]
    if how.tensorboard:
        watchers.append(TensorBoard(run.path / "tensorboard"))
    threads = torch.get_num_threads()
    torch.set_num_threads(about.threads)  # sums in another order would give other bits
    try:
        loop = _loop(run, about, world, watchers, how.save_seconds)
        if loop.progress.step and world.first:
            watch.say(f"resumed    {run.path} after step {loop.progress.step}")
        if loop.progress.step < about.recipe.steps:
            loop.run()
        elif world.first:
            watch.say(f"finished   all {about.recipe.steps} steps are done; more with --steps")
    except PeerGoneError as error:
        raise RunError(f"{error}; resume with: edgewise train --resume {run.path}") from error
    except (KeyboardInterrupt, SystemExit):
        if world.first:
            watch.say(f"resume     edgewise train --resume {shlex.quote(str(run.path))}")
        raise
    finally:
        torch.set_num_threads(threads)
    if world.first:
        _conclude(run, about, loop.progress, watch)
    return Run(run.path, about, loop.progress)


def _loop(run: RunFolder, about: About, world: World, watchers: Sequence[Watcher], save_seconds: float) -> Loop:
    file = run.path / "tokens.bin"
    if not file.is_file():
        raise MissingError(
            f"wanted the tokens of the run; there is no file {file}; all processes must see the run folder"
        )
    corpus = Corpus.open(file, about.held_out, about.token_kind)
    if len(corpus.tokens) != about.tokens:
        raise RunError(f"{file} is damaged: it holds {len(corpus.tokens)} tokens, and run.json says {about.tokens}")
    model = rung(about.rung).build(about.size, seed=about.recipe.seed).to(world.device)
    step = Step(model, about.recipe, precision=about.precision, compiled=about.compiled, world=world)

    def keep(checkpoint: Checkpoint, best: bool) -> None:
        # The best first: a kill between the two then repeats its evaluation instead of forgetting it.
        for name in ("best", "last") if best else ("last",):
            write(run.path / f"{name}.safetensors", checkpoint)

    loop = Loop(
        model,
        corpus,
        about.size.block,
        about.recipe,
        step,
        world,
        watchers,
        keep,
        save_seconds,
        str(run.path / "last.safetensors"),
    )
    if world.first:
        sweep(run.path)
    checkpoint, note = run.checkpoint("last")
    if note and world.first:
        watchers[0].say(f"note       {note}")
    if checkpoint is not None:
        if not checkpoint.step:
            raise RunError(
                f"{run.path} holds weights only, without the optimiser's state: sample it, it cannot be resumed"
            )
        loop.restore(checkpoint)
    return loop


def _conclude(run: RunFolder, about: About, progress: Progress, watch: Watcher) -> None:
    watch.say(
        f"done       {progress.step} steps in {duration(progress.seconds)}; validation {progress.validation_loss:.4f}, "
        f"best {progress.best_loss:.4f} at step {progress.best_step}"
    )
    pictures = draw_curves(run.path, f"{about.rung} on {about.text}")
    watch.say(f"picture    {' and '.join(str(picture) for picture in pictures)}")
    start = run.tokenizer().decode(
        Corpus.open(run.path / "tokens.bin", about.held_out, about.token_kind).tokens[:200].tolist()
    )
    word = re.search(r"\w{2,}", start)
    prompt = f" --prompt {shlex.quote(word[0])}" if word else ""
    watch.say(f"next       edgewise sample {shlex.quote(str(run.path))}{prompt}")
