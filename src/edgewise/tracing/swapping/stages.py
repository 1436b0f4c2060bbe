"""Some heads of a call, computed again with other lines."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from edgewise.attention import attend, reference, softmax, survivors
from edgewise.graphs import Graph
from edgewise.tracing.call import Attention
from edgewise.tracing.swapping.lines import Lines, zeros
from edgewise.tracing.swapping.places import bias_of, no_keys, tokens

__all__ = ["Heads", "swapped"]


class Heads(NamedTuple):
    """What some heads take home now."""

    out: Tensor
    """(batch, heads, query, width)"""
    weights: Tensor | None
    """(batch, heads, query, key), where the model is given weights and these are others."""


def swapped(
    call: Attention, out: Tensor, heads: Sequence[int], lines: Lines, generator: torch.Generator | None
) -> Heads:
    """Some heads of a call, with other lines.

    Args:
        call: the call.
        out: what it gave, (batch, heads, query, width).
        heads: which heads.
        lines: what is replaced in them.
        generator: where dropout's random numbers come from, so that those of the model stay as they are.
    """
    chosen = torch.tensor(heads, device=out.device)
    weights = None
    # What the model computes in half precision for speed is not worth losing here.
    exact = torch.autocast(out.device.type, enabled=False) if torch.is_autocast_enabled(out.device.type) else None
    with exact or nullcontext():
        some = out.index_select(1, chosen)
        if lines.weighs or lines.values is not None:
            some, weights = _computed(call, chosen, lines, generator)
        if lines.out is not None:
            some = lines.out(some, lambda: tokens(call, "queries"))
        return Heads(some.to(out.dtype), weights)


def _computed(
    call: Attention, chosen: Tensor, lines: Lines, generator: torch.Generator | None
) -> tuple[Tensor, Tensor | None]:
    given, shift = _arguments(call, chosen, lines)
    if lines.values is not None:
        given["value"] = lines.values(given["value"], lambda: tokens(call, "keys"))
    shown = bool(call.returned) and lines.weighs
    if lines.scores is zeros:
        given |= {"scale": 0.0, "bias": None, "soft_cap": None}
        lines, shift = replace(lines, scores=None), None
    # Fused kernels have a wrong gradient where all scores of a query are huge, as the shift makes them.
    if shown or shift is not None or lines.weights is not None or lines.scores is not None:
        return _by_stages(given, shift, lines, call.dropout, generator, shown=shown)
    return attend(**given, dropout=call.dropout, generator=generator), None


def _by_stages(
    given: dict[str, Any],
    shift: Tensor | None,
    lines: Lines,
    dropout: float,
    generator: torch.Generator | None,
    *,
    shown: bool,
) -> tuple[Tensor, Tensor | None]:
    """Stage by stage, for lines that only a function knows, and for weights that the model is given."""
    sinks, graph = given.pop("sinks"), given.pop("graph")
    stages = reference(**given, graph=graph)
    scores = stages.scaled if lines.scores is None else lines.scores(stages.scaled, _everywhere(stages.scaled))
    if shift is not None:
        scores = scores + shift
    masked = scores.masked_fill(~stages.allowed, -torch.inf)
    weights = softmax(masked, sinks=None if sinks is None else sinks.reshape(-1, 1, 1))
    if lines.weights is not None:
        weights = lines.weights(weights, _everywhere(weights))
    if dropout:
        weights = weights * survivors(weights, dropout, generator)
    return weights @ given["value"], weights if shown else None


def _arguments(call: Attention, chosen: Tensor, lines: Lines) -> tuple[dict[str, Any], Tensor | None]:
    """The heads in the words of `attend`, wide, with the mask and the scale that they are given.

    Queries without any key may read all where the model lets them, by numbers that only they get: those come apart.
    """
    groups = chosen // (call.query.shape[1] // call.key.shape[1])
    wide = torch.promote_types(torch.promote_types(call.query.dtype, call.value.dtype), torch.float32)
    graph, shift = call.edges.allowed, None
    if lines.mask is not None:
        graph = lines.mask.to(call.query.device) if isinstance(lines.mask, Tensor) else lines.mask
    else:
        nobody = no_keys(call) if math.isfinite(call.edges.hidden) else None
        if nobody is not None:
            graph = _dense(graph, call) | nobody
            shift = _of(nobody, chosen).to(wide) * call.edges.hidden
        if isinstance(graph, Tensor):
            graph = _of(graph, chosen)
    bias = bias_of(call)
    return {
        "query": call.query.index_select(1, chosen).to(wide),
        "key": call.key.index_select(1, groups).to(wide),
        "value": call.value.index_select(1, groups).to(wide),
        "graph": graph,
        "scale": call.scale if lines.scale is None else lines.scale,
        "bias": None if bias is None else _of(bias, chosen).to(wide),
        "soft_cap": call.soft_cap,
        "sinks": None if call.sinks is None else call.sinks.reshape(-1)[chosen].to(wide),
    }, shift


def _dense(graph: Graph | Tensor, call: Attention) -> Tensor:
    if isinstance(graph, Tensor):
        return graph
    dense = torch.from_numpy(graph.dense(call.query.shape[2], call.key.shape[2])).to(call.query.device)
    return dense[:, None] if dense.dim() == 3 else dense[None, None]


def _of(tensor: Tensor, chosen: Tensor) -> Tensor:
    """What is theirs of a tensor (…, heads or 1, query, key)."""
    return tensor if tensor.dim() < 3 or tensor.shape[-3] == 1 else tensor.index_select(-3, chosen)


def _everywhere(stage: Tensor) -> Any:
    return lambda: stage.new_ones((), dtype=torch.bool)
