"""How a target goes on from what it has read: found by reading a few tokens, and then a few more."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.checks.calls.answers import place_of
from edgewise.checks.calls.calling import Refused, answer, call, first_cache, held
from edgewise.checks.calls.results import parts, tensors
from edgewise.checks.calls.subject import Argument, Caching, Path, Subject
from edgewise.checks.infer.names import Role, Taken, parameters, roles
from edgewise.checks.infer.trial import BATCH, PLAIN, Trial
from edgewise.checks.lab.sampling import sampled

__all__ = ["cached"]

_STEPS = ("step", "decode", "decode_step", "forward_step", "decode_one", "step_forward", "incremental", "extend")
_MAKERS = (
    *("new_cache", "init_cache", "make_cache", "empty_cache", "create_cache", "new_state", "init_state"),
    *("initial_state", "make_empty_cache", "allocate_inference_cache"),
)
_NAMES = (
    *("past_key_values", "cache", "caches", "kv_cache", "present", "presents", "past", "state", "states"),
    *("cache_params", "new_cache", "mems"),
)


def cached(subject: Subject, takes: dict[Role, list[Taken]], trial: Trial) -> Subject:
    """The subject with the way in which it keeps what it has read, if it has one."""
    if subject.kind == "function" or subject.pooled or subject.reads in ("qkv", "pixels", "features"):
        return subject
    if subject.positions is not None and subject.positions.form == "start" and _keeps(subject.module):
        found = Caching("", subject.method)
        if _goes_on(subject.replace(caching=found), replace(PLAIN, cached=(2, 1)), trial):
            return _masked(subject.replace(caching=found), trial)
    for caching in _candidates(subject, takes):
        found = _tried(subject, caching, trial)
        if found is not None:
            found = _beside(subject, found, trial)
            argument = Argument(caching.name, "cache", required=subject.cache is not None and subject.cache.required)
            return _masked(_single(subject.replace(caching=found, cache=argument), trial), trial)
        if trial.left <= 0:
            break
    return subject


def _keeps(module: nn.Module | None) -> bool:
    """Whether a module has somewhere to keep keys and values, by the names of its tensors."""
    parts = [] if module is None else list(module.modules())
    named = {
        name for one in parts for name, value in {**vars(one), **one._buffers}.items() if isinstance(value, Tensor)
    }
    return any("cache" in name or "past" in name for name in named)


def _candidates(subject: Subject, takes: dict[Role, list[Taken]]) -> Iterator[Caching]:
    """Ways of keeping, the likeliest first."""
    yield from _of_method(subject, subject.method, takes)
    module = subject.module
    for name in _STEPS:
        method = getattr(type(module), name, None)
        if module is not None and callable(method) and name != subject.method:
            yield from _of_method(subject, name, roles(parameters(getattr(module, name))))


def _of_method(subject: Subject, method: str, takes: dict[Role, list[Taken]]) -> Iterator[Caching]:
    asks: list[dict[str, Any]] = [{one.name: True} for one in takes.get("use_cache", [])] + [{}]
    for one in takes.get("cache", []):
        for asked in asks:
            for first in _firsts(subject.module):
                yield Caching(one.name, method, first, asked=asked)


def _firsts(module: nn.Module | None) -> Iterator[str]:
    """What the first call may be given."""
    for name in _MAKERS:
        make = getattr(module, name, None)
        if callable(make):
            wants = [one for one in inspect.signature(make).parameters.values() if one.default is one.empty]
            yield f"{name}(batch)" if wants else f"{name}()"
            if not wants and inspect.signature(make).parameters:
                yield f"{name}(batch)"
    yield from ("", "dict", "list")


def _single(subject: Subject, trial: Trial) -> Subject:
    """Whether a step beside the whole reads one token at a time: several at once come out otherwise than there."""
    caching = subject.caching
    if caching is None or caching.method in ("", "forward", subject.method):
        return subject
    given = sampled(subject, BATCH)
    several, whole = (trial.answer(subject, given, replace(PLAIN, cached=one)) for one in ((given.length,), ()))
    if several is None or whole is None or several.out.shape != whole.out.shape:
        return subject
    same = torch.allclose(several.out.double(), whole.out.double(), rtol=1e-3, atol=1e-4, equal_nan=True)
    return subject if same else subject.replace(caching=replace(caching, single=True))


def _beside(subject: Subject, caching: Caching, trial: Trial) -> Caching:
    """With where the cache is when weights are returned too."""
    if subject.weights is None or caching.returned is None:
        return caching
    weighed = _tried(subject, replace(caching, returned=None), trial, weights=True)
    if weighed is None or weighed.returned in (None, caching.returned):
        return caching
    return replace(caching, beside_weights=weighed.returned)


def _tried(subject: Subject, caching: Caching, trial: Trial, *, weights: bool | None = None) -> Caching | None:
    """The way with the place of the cache, if two calls one after the other go well."""
    tried = subject.replace(caching=caching)
    given = sampled(tried, BATCH)
    middle = max(1, given.length // 2)
    route = replace(PLAIN, weights=weights, cached=(middle, given.length - middle))
    try:
        with held(tried, route, seconds=trial.left):
            cache = first_cache(tried, caching, BATCH)
            before = _state(cache)
            given = given.to(tried.dtype, tried.device)
            result, _ = call(tried, given, route, start=0, stop=middle, cache=cache)
            trial.calls += 1
    except Exception as error:
        trial.failures.append(str(error) if isinstance(error, Refused) else f"{caching.first} raises {error}")
        return None
    out = place_of(tried, given.slice(0, middle), result)
    places: list[Path | None] = list(_places(result, subject, out and out[0], weights=bool(weights)))
    if _state(cache) != before:
        places = [None, *places] if cache is not None else places
    for place in places:
        found = replace(caching, returned=place)
        if _goes_on(subject.replace(caching=found), route, trial):
            return found
    return None


def _goes_on(subject: Subject, route: Any, trial: Trial) -> bool:
    trial.calls += 1
    try:
        answer(subject, sampled(subject, BATCH), route, seconds=trial.left)
    except Refused as error:
        trial.failures.append(str(error))
        return False
    return True


def _places(result: Any, subject: Subject, out: Path | None, *, weights: bool) -> Iterator[Path]:
    """Where in what was returned a cache may be: by its name, else whatever is beside the answer and holds tensors."""
    beside = [
        ((name,), one)
        for name, one in parts(result)
        if (name,) != out and name not in ("logits", "hidden_states", "attentions", "loss")
    ]
    named = [path for path, one in beside if path[0] in _NAMES and one is not None]
    yield from named
    for path, one in beside:
        if path in named or isinstance(one, int | float | str | bool) or one is None:
            continue
        if path == subject.weights_at and (weights or subject.weights is None):
            continue
        if tensors(one) or not isinstance(one, tuple | list | dict):
            yield path


def _state(cache: Any) -> tuple[Any, ...]:
    """What can be seen of a cache to have changed: its tensors and plain numbers."""
    if cache is None:
        return ()
    return tuple((tuple(one.shape), float(one.detach().double().sum())) for one in tensors(cache, 6)) + _numbers(cache)


def _numbers(cache: Any) -> tuple[Any, ...]:
    several = cache if isinstance(cache, list | tuple) else [cache]
    numbers = [(name, one) for each in several for name, one in parts(each) if isinstance(one, int | float)]
    return (len(several), *numbers)


def _masked(subject: Subject, trial: Trial) -> Subject:
    """Whether a mask is over everything so far, or over what is new."""
    if subject.mask is None or subject.caching is None:
        return subject
    given = sampled(subject, BATCH)
    given = given.replace(keep=torch.ones(BATCH, given.length, dtype=torch.bool))
    middle = max(1, given.length // 2)
    route = replace(PLAIN, cached=(middle, given.length - middle), mask="ones")
    for mask in ("whole", "new"):
        tried = subject.replace(caching=replace(subject.caching, mask=mask))
        if trial.answer(tried, given, route) is not None:
            return tried
    return subject
