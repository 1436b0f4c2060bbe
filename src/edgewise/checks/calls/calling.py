"""Calling a target on one route: held still, with copies, and what it answers in one layout whatever it returns."""

import copy
import sys
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.answers import Answer, read
from edgewise.checks.calls.arguments import Refused
from edgewise.checks.calls.backends import backed, quiet
from edgewise.checks.calls.encoded import listening, with_encoded
from edgewise.checks.calls.frozen import moded, seeded
from edgewise.checks.calls.given import Given
from edgewise.checks.calls.handing import handed
from edgewise.checks.calls.limits import limited
from edgewise.checks.calls.results import at
from edgewise.checks.calls.route import Route
from edgewise.checks.calls.settled import settled
from edgewise.checks.calls.subject import Caching, Subject

__all__ = ["Answer", "Refused", "answer"]

Between = Callable[[Any, int], tuple[Any, dict[str, Any]]]


def answer(
    subject: Subject,
    given: Given,
    route: Route,
    gradient: bool = False,
    seed: int = 0,
    *,
    dropout: bool = False,
    seconds: float | None = None,
    between: Between | None = None,
) -> Answer:
    """What the target answers on a route.

    Args:
        subject: how it is called.
        given: what it reads.
        route: which way.
        gradient: whether a graph of gradients is kept.
        seed: what everything that is random starts from.
        dropout: whether dropout stays as it is in training mode; else it is zero.
        seconds: how long it may take; None for as long as it likes.
        between: what becomes of a cache after each part, given it and the tokens read so far: the cache, and what the
            next call is given beside.

    Raises:
        Refused: the target does not take this route, or fails on it; says why.
    """
    subject, given = _cast(subject, given, route)
    began = time.perf_counter()
    with held(subject, route, gradient=gradient, seed=seed, dropout=dropout, seconds=seconds):
        try:
            found = _stepwise(subject, given, route, between) if route.cached else _whole(subject, given, route)
        except Refused:
            raise
        except Exception as error:  # what came back, or what the target made of a copy, is like nothing known
            raise Refused(failed(error)) from None
    found.seconds = time.perf_counter() - began
    return found


def _uncompiled(route: Route) -> AbstractContextManager[object]:
    """While this lasts, what a target has compiled runs as it was written: it computes the same, without the wait."""
    # Where nothing has been compiled, asking for it would load the compiler.
    if "torch._dynamo" in sys.modules or route.backend == "flex_attention":
        return torch.compiler.set_stance("force_eager")
    return nullcontext()


@contextmanager
def held(
    subject: Subject,
    route: Route,
    *,
    gradient: bool = False,
    seed: int = 0,
    dropout: bool = False,
    seconds: float | None = None,
) -> Generator[None]:
    """While this lasts, nothing about the target but its input changes what it answers."""
    with (
        torch.inference_mode(False),
        torch.set_grad_enabled(gradient),
        seeded(seed, everything=subject.draws),
        moded(subject.held, training=route.training, dropout=dropout),
        quiet(subject),
        backed(subject, route.backend),
        _uncompiled(route),
        limited(seconds),
        settled(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # what a target has to say it would say hundreds of times
        yield


def _whole(subject: Subject, given: Given, route: Route) -> Answer:
    result, mutated = call(subject, given, route)
    return read(subject, given, result, mutated)


def _stepwise(subject: Subject, given: Given, route: Route, between: Between | None = None) -> Answer:
    """Part after part, each with the cache of those before it."""
    caching = subject.caching
    if caching is None:
        raise Refused("it has no cache that was found")
    if given.documents is not None:
        raise Refused("several documents in a row are not read part by part")
    cache = first_cache(subject, caching, given.batch)
    answers: list[Answer] = []
    start, heard, fixed = 0, None, subject.fixed
    for stop in stops(route.cached, given.length):
        with listening(subject) as kept:
            result, mutated = call(subject, given, route, start=start, stop=stop, cache=cache, heard=heard)
        heard = kept[0] if kept else heard
        answers.append(read(subject, given.slice(start, stop), result, mutated, stop))
        if caching.returned is not None:
            cache = at(result, (route.weights and caching.beside_weights) or caching.returned)
            if cache is None:
                raise Refused(f"it returns no cache after {stop} tokens")
        if between is not None:
            cache, more = between(cache, stop)
            subject = subject.replace(fixed={**fixed, **more}, casts=subject.casts)
        start = stop
    return Answer(
        torch.cat([one.out for one in answers], dim=1),
        *_joined(answers, given.length),
        cache=cache,
        mutated=tuple(dict.fromkeys(name for one in answers for name in one.mutated)),
        result=answers[-1].result,
    )


def stops(numbers: tuple[int, ...], length: int) -> list[int]:
    """Where each call ends: the numbers of new tokens in turn, the last of them again until the end is reached.

    Example:
        >>> stops((3, 1), 6), stops((2, 4), 5)
        ([3, 4, 5, 6], [2, 5])
    """
    found: list[int] = []
    while not found or found[-1] < length:
        new = numbers[min(len(found), len(numbers) - 1)]
        found.append(min((found[-1] if found else 0) + max(1, new), length))
    return found


def _joined(answers: list[Answer], length: int) -> tuple[Tensor | None, tuple[Tensor, ...]]:
    many = min(len(one.layers) for one in answers)
    rows = [[nn.functional.pad(one, (0, length - one.shape[-1])) for one in each.layers] for each in answers]
    if any(one.shape[-1] != length for each in rows for one in each):
        return None, ()
    layers = tuple(torch.cat([each[layer] for each in rows], dim=2) for layer in range(many))
    return (layers[-1] if layers else None), layers


def first_cache(subject: Subject, caching: Caching, batch: int) -> Any:
    """What the first call of a cached route is given."""
    if caching.first == "list":
        return []
    if caching.first == "dict":
        return {}
    if caching.first == "transformers":
        import transformers  # the target is of it

        return transformers.DynamicCache(config=subject.config)
    if not caching.first:
        return None
    name, _, rest = caching.first.partition("(")
    make = getattr(subject.module, name)
    return make(batch) if rest.startswith("batch") else make()


def call(
    subject: Subject,
    given: Given,
    route: Route,
    *,
    start: int = 0,
    stop: int | None = None,
    cache: Any = None,
    heard: Any = None,
) -> tuple[Any, tuple[str, ...]]:
    """What the target returns, and which arguments it wrote into.

    Args:
        subject: how it is called.
        given: the whole of what it reads.
        route: which way.
        start: of a cached route: the first token of this call.
        stop: the end of this call.
        cache: what earlier calls left.
        heard: what the encoder gave in the first of them, in place of the memory.

    Raises:
        Refused: it fails.
    """
    ordered, named = handed(subject, given, route, start, stop, cache)
    named = with_encoded(subject, named, heard)
    run = callee(subject, subject.caching.method if route.cached and subject.caching else subject.method)
    before = {name: value.clone() for name, value in named.items() if isinstance(value, Tensor)}
    firsts = [one.clone() for one in ordered]
    try:
        result = run(named) if subject.mapping else run(*ordered, **named)
    except Refused:
        raise
    except (Exception, SystemExit) as error:
        raise Refused(failed(error)) from None
    mutated = [name for name, value in before.items() if _changed(value, named[name])]
    mutated += [name for name, was, now in zip(subject.main, firsts, ordered, strict=False) if _changed(was, now)]
    return result, tuple(mutated)


def callee(subject: Subject, method: str) -> Callable[..., Any]:
    """What is called: the target, or a method of its module."""
    if method in ("", "forward") or not isinstance(subject.target, nn.Module):
        return subject.target
    return getattr(subject.target, method)


def _changed(was: Tensor, now: Tensor) -> bool:
    return was.shape != now.shape or not torch.equal(torch.nan_to_num(was), torch.nan_to_num(now))


def failed(error: BaseException) -> str:
    """What a target's error says, in one line."""
    try:
        text = str(error)
    except Exception:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = lines[0][:200] if lines else "no word"
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or any(one in text for one in _FULL):
        return f"it ran out of memory: {said}"
    if isinstance(error, TimeoutError):
        return said
    return f"it raises {type(error).__name__}: {said}"


_FULL = ("can't allocate memory", "not enough memory", "out of memory")


def _cast(subject: Subject, given: Given, route: Route) -> tuple[Subject, Given]:
    """The subject in the dtype of the route, made once, and what it is given in the same, on its device."""
    if route.dtype is not None:
        dtype = getattr(torch, route.dtype)
        if dtype != subject.dtype:
            if dtype not in subject.casts:
                subject.casts[dtype] = _copied(subject, dtype)
            made = subject.casts[dtype]
            if isinstance(made, str):
                raise Refused(made)
            subject = made
    return subject, given.to(subject.dtype, subject.device)


def _copied(subject: Subject, dtype: torch.dtype) -> Subject | str:
    """In another dtype; or why that cannot be made."""
    module = subject.module
    if module is None:
        return subject.replace(dtype=dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin: Any = copy.deepcopy(module).to(dtype)
            if dtype == torch.float64 and hasattr(twin, "set_experts_implementation"):
                twin.set_experts_implementation("eager")  # the library's joined product of experts takes no doubles
    except Exception as error:
        return f"no copy of it in {str(dtype).removeprefix('torch.')} can be made: {failed(error)}"
    is_method = not isinstance(subject.target, nn.Module)
    target = getattr(twin, subject.target.__name__) if is_method else twin
    return subject.replace(target=target, dtype=dtype)
