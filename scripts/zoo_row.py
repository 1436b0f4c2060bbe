"""What came of tracing one model, as a row of the table."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["row", "traced"]


def row(name: str) -> dict[str, Any]:
    """Build one type small, trace it, and say what came of it; seconds are the processor's, building included."""
    from edgewise.errors import EdgewiseError
    from edgewise.tracing.tiny import tiny, types

    found: dict[str, Any] = {"type": name, "kind": types()[name]}
    began = time.process_time()
    try:
        made = tiny(name)
    except EdgewiseError as error:
        return found | {"outcome": "not built", "why": str(error).removeprefix(f"{name} ")}
    found |= {
        "reads": made.reads,
        "size": made.level,
        "parameters": sum(one.numel() for one in made.model.parameters()),
        "built": round(time.process_time() - began, 2),
    }
    row = found | traced(made.model, made.inputs)
    return row | {"seconds": round(time.process_time() - began, 2)}


def traced(model: Any, inputs: Any) -> dict[str, Any]:
    """Count the calls of attention from below, capture them, and say what came of it; seconds are the processor's."""
    import torch
    from census import Census

    from edgewise.errors import EdgewiseError
    from edgewise.tracing import called, record

    began = time.process_time()
    with torch.no_grad(), torch.random.fork_rng(devices=()), Census(model) as census:
        called(model, inputs)
    found: dict[str, Any] = {"calls": census.calls}
    seconds: Callable[[], float] = lambda: round(time.process_time() - began, 2)  # noqa: E731 - it reads best here
    if not census.calls:
        return found | {"outcome": "no softmax attention", "seconds": seconds()}
    try:
        seen = record(model, inputs, check="all")
    except Exception as error:  # what fails while it is looked at is not captured, whatever the reason
        told = str(error) if isinstance(error, EdgewiseError) else f"{type(error).__name__}: {error}"
        return found | {"outcome": "not captured", "why": _reason(told)}
    return found | _captured(seen, census.calls) | {"seconds": seconds()}


def _captured(seen: Any, calls: int) -> dict[str, Any]:
    residuals = [call.residual for call in seen.calls if call.residual == call.residual]
    unexplained = dict(seen.inputs.get("unexplained", {}))
    sites = {call.site.name for call in seen.calls}
    missed = max(0, calls - len(seen.calls), sum(site not in sites for site in unexplained))
    return {
        "outcome": "captured in part" if missed else "captured",
        "captured": len(seen.calls),
        "missed": missed,
        "why": "; ".join(f"{site}: {why}" for site, why in unexplained.items())[:300],
        "routes": dict(Counter(call.route for call in seen.calls)),
        "residual": max(residuals, default=None),
        "difference": seen.proof.difference,
        "noise": seen.proof.noise if seen.proof.difference else 0.0,
    }


def _reason(told: str) -> str:
    """The sites and why, where the message goes on to name them."""
    _, seen, sites = told.partition("run the model inside `with trace`; ")
    return (sites if seen and sites else told)[:300]
