"""The run folder: what it holds, how it is made whole in one instant, and how a run is read back from it.

run.json            what the run is: rung, size, recipe, text, choices
tokenizer.json      text to tokens and back
tokens.bin          the text as tokens
metrics.jsonl       the losses, a line a step
last.safetensors    the newest checkpoint, best.safetensors the one with the lowest validation loss
curves.svg .png     the picture of the losses
"""

import itertools
import json
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from torch import nn

from edgewise.errors import EdgewiseError, MissingError, RunError
from edgewise.ladder import Size, rung
from edgewise.training.checkpoint import Checkpoint, read, write, write_atomically
from edgewise.training.recipe import Recipe
from edgewise.training.tokens import Tokenizer, from_json

__all__ = ["About", "Loaded", "RunFolder", "load", "new_folder", "slim"]

FORMAT = 1
Which = Literal["best", "last"]


@dataclass(frozen=True)
class About:
    """What a run is, as `run.json` says it; a resumed run goes by this alone."""

    rung: str
    size: Size
    recipe: Recipe
    text: str
    tokens: int
    held_out: int
    token_kind: str
    device: str
    precision: Literal["float32", "bfloat16"]
    compiled: bool
    threads: int
    edgewise: str
    torch: str
    format: int = FORMAT

    def to_json(self) -> str:
        """Return the content of run.json."""
        return json.dumps(asdict(self), indent=2) + "\n"


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run."""

    path: Path

    def about(self) -> About:
        """Return what run.json says.

        Raises:
            MissingError: this is not a run folder.
            RunError: it is damaged, or a newer version's.
        """
        file = self.path / "run.json"
        if not file.is_file():
            is_there = "holds no run.json, so it is not a run folder" if self.path.is_dir() else "does not exist"
            raise MissingError(f"wanted a run folder, as edgewise train makes it; {self.path} {is_there}")
        try:
            described: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            writer, written = described["edgewise"], int(described["format"])
            if written <= FORMAT:
                described["size"] = Size(**described["size"])
                described["recipe"] = Recipe.from_json(described["recipe"])
                return About(**described)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{file} is damaged ({type(error).__name__}: {error})") from None
        raise RunError(
            f"{self.path} was written by edgewise {writer} in format {written}; "
            f"this version reads up to format {FORMAT}; install a newer edgewise"
        )

    @contextmanager
    def held(self, first: bool) -> Generator[None]:
        """Hold the run while it is trained, in the first process of those that train it.

        Raises:
            RunError: somebody else holds it.
        """
        held = self.path / "tokens.bin"  # the one file that is never put in the place of another
        if not first or os.name != "posix" or not held.is_file():
            yield
            return
        import fcntl

        with held.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # let go of by the system however the process ends
            except BlockingIOError:
                raise RunError(f"another process is training {self.path}; wait for its end, or stop it first") from None
            yield

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of the run."""
        file = self.path / "tokenizer.json"
        if not file.is_file():
            raise MissingError(f"wanted the tokenizer of the run; there is no file {file}")
        return from_json(file.read_text(encoding="utf-8"), str(file))

    def checkpoint(self, which: Which) -> tuple[Checkpoint | None, str]:
        """Return the checkpoint wanted, or the other where that one is damaged or missing, and a sentence if so.

        Raises:
            RunError: there are checkpoints, and none can be read.
        """
        other: Which = "last" if which == "best" else "best"
        wrong: list[str] = []
        for name in (which, other):
            path = self.path / f"{name}.safetensors"
            if not path.is_file():
                continue
            try:
                found = read(path)
            except RunError as error:
                wrong.append(str(error))
                continue
            if name == which:
                return found, ""
            reason = wrong[0] if wrong else f"there is no {which} checkpoint"
            return found, f"{reason}; the {name} one (step {found.progress.step}) is used"
        if wrong:
            raise RunError(f"no checkpoint of {self.path} can be read: {'; '.join(wrong)}")
        return None, ""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model read back from a run folder, on the CPU, in float32 and evaluation mode; `note` says what fell back."""

    model: nn.Module
    tokenizer: Tokenizer
    size: Size
    rung: str
    step: int
    validation_loss: float | None
    folder: Path
    note: str = ""


def load(folder: str | Path, which: Which = "best") -> Loaded:
    """Return the model of a run, with what is needed to write with it.

    Raises:
        MissingError: this is not a run folder, or it has no checkpoint yet.
        RunError: it is damaged, or a newer version's.
    """
    run = RunFolder(Path(folder))
    about = run.about()
    checkpoint, note = run.checkpoint(which)
    if checkpoint is None:
        raise MissingError(f"wanted a checkpoint; {folder} has none yet; run edgewise train --resume {folder}")
    model = rung(about.rung).build(about.size)
    try:
        model.load_state_dict(checkpoint.model)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise RunError(f"the checkpoint of {folder} does not fit the rung {about.rung} ({reason})") from None
    progress = checkpoint.progress
    return Loaded(
        model.eval(), run.tokenizer(), about.size, about.rung, progress.step, progress.validation_loss, run.path, note
    )


def slim(folder: str | Path, out: str | Path) -> None:
    """Write to `out` what sampling needs of a run, and nothing more: its facts, its tokenizer and its best weights."""
    source, target = RunFolder(Path(folder)), Path(out)
    best, _ = source.checkpoint("best")
    if best is None:
        raise MissingError(f"wanted a checkpoint; {folder} has none yet")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("run.json", "tokenizer.json"):
        shutil.copyfile(source.path / name, target / name)
    write(target / "best.safetensors", Checkpoint(best.model, {}, best.progress))


@contextmanager
def new_folder(out: str | Path | None, name: str, root: Path = Path("runs")) -> Generator[tuple[Path, Path]]:
    """Give a folder to fill and the path at which it will be, whole, when the context ends without an error.

    Without `out` that is `runs/NAME-1`, or the first number that is free.

    Raises:
        RunError: `out` is taken, or cannot be written.
    """
    final = Path(out) if out is not None else _free(root, name)
    if final.exists() and not (final.is_dir() and not any(final.iterdir())):
        resumable = (final / "run.json").is_file()
        hint = f"go on with it by --resume {final}, or choose another --out" if resumable else "choose another --out"
        raise RunError(f"wanted a new folder for the run; {final} is there already; {hint}")
    filling = final.with_name(f".{final.name}.{os.getpid()}")
    try:
        filling.mkdir(parents=True)
    except OSError as error:
        raise RunError(f"wanted a new folder for the run; {final} cannot be made ({error.strerror})") from None
    try:
        yield filling, final
        filling.replace(final)
    except (EdgewiseError, BrokenPipeError):
        raise
    except OSError as error:
        raise RunError(f"the run folder {final} cannot be written ({error.strerror})") from error
    finally:
        if filling.exists():
            shutil.rmtree(filling)


def _free(root: Path, name: str) -> Path:
    taken = re.compile(re.escape(name) + r"-(\d+)")
    numbers = [
        int(found[1]) for one in (root.iterdir() if root.is_dir() else ()) if (found := taken.fullmatch(one.name))
    ]
    return next(
        path for n in itertools.count(max(numbers, default=0) + 1) if not (path := root / f"{name}-{n}").exists()
    )


def write_facts(folder: Path, about: About, tokenizer: Tokenizer) -> None:
    """Write what a run is into its new folder."""
    write_atomically(folder / "tokenizer.json", tokenizer.to_json())
    write_atomically(folder / "run.json", about.to_json())
