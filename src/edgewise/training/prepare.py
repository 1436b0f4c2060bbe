"""What happens before the first step: text found, tokens written, choices made, and the run folder there as a whole."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

import torch

from edgewise import __version__
from edgewise.errors import ArgumentError, DataError
from edgewise.ladder import Rung, Size
from edgewise.ladder import rung as find_rung
from edgewise.training.choices import How, choose_compiling, choose_device, choose_precision, timed
from edgewise.training.data import Corpus, windows, write_tokens
from edgewise.training.distributed import World
from edgewise.training.folder import About, new_folder, write_facts
from edgewise.training.recipe import Recipe
from edgewise.training.step import Step
from edgewise.training.texts import Text, find
from edgewise.training.tokens import Tokenizer, learn
from edgewise.training.watch import Watcher

__all__ = ["Plan", "prepare"]

LONG = 1 << 24  # bytes of text from which reading it is worth a bar
PAIRS = 1024  # tokens of byte pairs where no number is given: enough for common words of a text of a megabyte


@dataclass(frozen=True)
class Plan:
    """What was asked for; see `train`."""

    paths: Sequence[str | Path]
    rung: str
    size: Size
    recipe: Recipe
    tokens: str
    validation: float
    out: str | Path | None
    how: How


def prepare(plan: Plan, world: World, watch: Watcher) -> Path:
    """Return the folder of a new run, with all in it that the first step needs.

    Raises:
        EdgewiseError: as `train` says; nothing is left behind.
    """
    model = find_rung(plan.rung)
    text = find(plan.paths)
    watch.say(f"text       {text.why}")
    with new_folder(plan.out, text.name) as (filling, final):
        tokenizer = _tokenizer(plan.tokens, text, watch)
        tokens, kind = write_tokens(_watched(text, "tokens", watch), tokenizer, filling / "tokens.bin")
        corpus = Corpus.of(tokens, plan.size.block, plan.validation)
        size = replace(plan.size, vocabulary=tokenizer.size)
        watch.say(
            f"tokens     {len(tokens):,} ({tokenizer.says}); the last {plan.validation:.0%} are held out for validation"
        )
        watch.say(_described(model, size, plan.recipe))
        device, precision, compiled = _choices(plan, model, size, corpus, world, watch)
        about = About(
            rung=model.name,
            size=size,
            recipe=plan.recipe,
            text=text.name,
            tokens=len(tokens),
            held_out=corpus.held_out,
            token_kind=kind,
            device=device,
            precision=precision,
            compiled=compiled,
            threads=torch.get_num_threads(),
            edgewise=__version__,
            torch=torch.__version__,
        )
        write_facts(filling, about, tokenizer)
    watch.say(f"folder     {final}")
    return final


def _watched(text: Text, what: str, watch: Watcher) -> Iterator[str]:
    """Yield the pieces of a text, telling how much of it has been read."""
    read, size = 0, text.size
    for piece in text.pieces():
        yield piece
        read += len(piece.encode())
        if size > LONG:
            watch.preparing(what, min(read / size, 1.0))


def _tokenizer(wanted: str, text: Text, watch: Watcher) -> Tokenizer:
    kind, _, number = wanted.partition(":")
    if kind == "pairs" and number and not number.isdecimal():
        raise ArgumentError(f'wanted tokens to be "pairs" or "pairs:NUMBER"; got {wanted!r}')
    tokenizer = learn(kind if kind == "pairs" else wanted, int(number or PAIRS), _watched(text, "vocabulary", watch))
    if tokenizer.size == 0:
        raise DataError("wanted text; all of it is empty")
    if tokenizer.size == 1:
        raise DataError(
            "wanted a text of several characters; it has one distinct character, so there is nothing to learn"
        )
    return tokenizer


def _described(model: Rung, size: Size, recipe: Recipe) -> str:
    built = model.build(size)
    others = [name for name, one in inspect.signature(built.forward).parameters.items() if one.default is one.empty]
    if len(others) != 1:
        raise ArgumentError(
            f"the rung {model.name} reads {' and '.join(others)}; train takes a rung that reads one text"
        )
    parameters = sum(parameter.numel() for parameter in built.parameters())
    return (
        f"model      {model.name}: {size.layers} layers, {size.heads} heads, width {size.width}, block {size.block}; "
        f"{parameters:,} parameters\n"
        f"recipe     {recipe.says(size.block)}"
    )


def _choices(
    plan: Plan, model: Rung, size: Size, corpus: Corpus, world: World, watch: Watcher
) -> tuple[str, Literal["float32", "bfloat16"], bool]:
    share = plan.recipe.batch // world.size
    starts = corpus.starts(plan.recipe.seed, 0, share, size.block)

    def seconds(precision: Literal["float32", "bfloat16"]) -> float:
        trial = model.build(size).to(world.device)
        step = Step(trial, plan.recipe, precision=precision, compiled=False)
        batches = [windows(corpus.training, starts, size.block, world.device)] * plan.recipe.accumulate
        with torch.random.fork_rng():
            return timed(lambda: step(batches, plan.recipe.factor(0)))

    device = choose_device(plan.how.device)
    watch.say(f"device     {device.value}: {device.why}")
    precision = choose_precision(plan.how.precision, seconds)
    watch.say(f"precision  {precision.value}: {precision.why}")
    chosen = cast(Literal["float32", "bfloat16"], precision.value)
    compiled = choose_compiling(plan.how.compiled, plan.recipe.steps, lambda: seconds(chosen), device.value)
    watch.say(f"compiled   {compiled.value}: {compiled.why}")
    return device.value, chosen, compiled.value == "yes"
