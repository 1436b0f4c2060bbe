"""Capturing: every call of attention that a model makes while it is watched."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from edgewise.records import Record
from edgewise.tracing.captured import RewrittenError
from edgewise.tracing.choice import Choice, Numbers, Sites
from edgewise.tracing.compiled import uncompiled
from edgewise.tracing.proof import numbers_of, proven, repeatable, rewinder
from edgewise.tracing.routes import ROUTES
from edgewise.tracing.run import Keep, Run
from edgewise.tracing.verify import Check
from edgewise.tracing.watch import Watch, listening

__all__ = ["called", "record", "trace", "watched"]


@contextmanager
def trace(
    model: object,
    *,
    sites: Sites = None,
    heads: Numbers = None,
    rows: Numbers = None,
    dtype: torch.dtype | None = None,
    keep: Keep = "calls",
    check: Check = "some",
    copy: bool = False,
    out: str | Path | None = None,
) -> Generator[Run]:
    """While this lasts, every call of attention of `model` is captured; the model computes what it always does.

    Args:
        model: a module; or any function, and then whatever attention runs meanwhile.
        sites: which to keep: names, patterns with * and ?, numbers of layers, "self" or "cross".
        heads: which query heads to keep.
        rows: which queries of each call to keep.
        dtype: what to keep numbers in; None for the model's own.
        keep: "calls" for queries, keys, values and outputs; "statistics" for nine numbers a head and query instead,
            in `Run.statistics`, which takes next to no memory; or "both".
        check: how many rows of each output to compute again and compare: "some", "all" or "none".
        copy: whether to hold copies, for a model that writes into tensors which attention has used.
        out: a file to write calls to as they happen, so that a trace may be larger than the memory.

    Raises:
        ArgumentError: a site, a head or a dtype is not one that can be kept, or `keep` is not one of its words.
        RunError: the file cannot be written.
        TraceError: a call's query, key, value and mask do not explain its output.

    Example:
        >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.randn(1, 5, 8)
        >>> with trace(layer) as run:
        ...     out, _ = layer(x, x, x, need_weights=False)
        >>> run.calls[0].graph
        full()
    """
    run = Run(Choice(sites, heads, rows, dtype), check, copy, out, keep)
    whole = False
    try:
        with watched(Watch(model, run.listen, run.miss)):
            yield run
        whole = True
    finally:
        run.close(whole=whole)


def record(
    model: object,
    inputs: Any,
    *,
    forward: Callable[[Any, Any], Any] | None = None,
    gradients: bool = False,
    tokens: tuple[tuple[str, ...], ...] | None = None,
    target: str = "",
    about: Callable[[], Mapping[str, Any]] | None = None,
    **options: Any,
) -> Record:
    """The record of one run, and the proof that looking changed nothing: the model runs untouched as well.

    Args:
        model: a module or a function.
        inputs: named arguments as a mapping, several as a tuple, or one.
        forward: how to run it, given model and inputs, such as a call of generate; by default it is called.
        gradients: whether to compare the gradients of all parameters as well; without, no graph is built.
        tokens: what the model reads, a tuple of texts for each sequence.
        target: which model, in words.
        about: what else the run was, asked once it is over; as in `Run.describe`.
        **options: what to keep and how to check, as in `trace`; copies are held where the model turns out to need it.

    Raises:
        TraceError: no attention was seen, or what was seen does not explain what the model computed.

    Example:
        >>> layer = torch.nn.MultiheadAttention(8, 2).eval()
        >>> record(layer, (torch.ones(5, 1, 8),) * 3).proof.exact
        True
    """
    run_it = called if forward is None else forward

    def plain() -> Any:
        with repeatable(model):
            return numbers_of(model, run_it, inputs, gradients=gradients)

    def seen(**more: Any) -> Record:
        with trace(model, **{**options, **more}) as run:
            numbers = numbers_of(model, run_it, inputs, gradients=gradients)
            run.proof = proven(untouched, numbers, plain)
            said: dict[str, Any] = {"tokens": tokens, "target": target}
            run.describe(**said | dict(about() if about is not None else {}))
        return run.record()

    untouched = plain()
    back = rewinder(model)
    try:
        return seen()
    except RewrittenError:
        back()
        return seen(copy=True)


@contextmanager
def watched(watch: Watch) -> Generator[None]:
    """While this lasts, the watch is told of its model's calls, whichever way they are made."""
    with ExitStack() as routes:
        routes.enter_context(uncompiled(watch))
        routes.enter_context(listening(watch))
        for route in ROUTES:
            routes.enter_context(route(watch))
        yield


def called(model: Any, inputs: Any) -> Any:
    """What a model gives for named arguments as a mapping, several as a tuple, or one."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)
