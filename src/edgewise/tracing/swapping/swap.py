"""Swapping: a model runs, and in some heads one line of attention is another."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional

from edgewise.records import Site
from edgewise.tracing.call import Attention
from edgewise.tracing.capture import watched
from edgewise.tracing.choice import Choice, Numbers, Sites
from edgewise.tracing.sites import Place
from edgewise.tracing.swapping.lines import Instead, Lines, Mask, lines_of
from edgewise.tracing.swapping.stages import swapped
from edgewise.tracing.swapping.unmet import complaint, named
from edgewise.tracing.watch import Watch

__all__ = ["Swapped", "swap"]


@contextmanager
def swap(
    model: object,
    sites: Sites = None,
    *,
    heads: Numbers = None,
    mask: Mask = None,
    scale: float | None = None,
    scores: Instead = None,
    weights: Instead = None,
    values: Instead = None,
    out: Instead = None,
) -> Generator["Swapped"]:
    """While this lasts, some heads of `model` attend with other lines; everything else computes what it always does.

    A line is replaced by a word, by a tensor that broadcasts to it, or by a function that is given the line, of these
    heads alone and in at least float32, and returns what stands there instead. Gradients flow through all of it. Swaps
    within each other work on one another's results, the first to begin first.

    Args:
        model: a module; or any function, and then whatever attention runs meanwhile.
        sites: where: names, patterns with * and ?, numbers of layers, "self" or "cross"; None for everywhere.
        heads: which query heads; None for all of them.
        mask: the edges, as a graph or its name, or as booleans; "none" lets every query read every key, padding too.
        scale: what raw scores are multiplied with; 1.0 for no scaling.
        scores: scores (batch, heads, query, key) after scale, cap and bias and before the mask; "zeros" makes each
            query read alike whatever it may read.
        weights: weights (batch, heads, query, key), before dropout.
        values: values (batch, heads, key, width); "zeros", or "mean" for each head's mean over batch and keys.
        out: outputs (batch, heads, query, width), before they are projected; "zeros", or "mean" for each head's mean
            over batch and queries in this call. Padding counts in neither mean, where the mask says what is padding.

    Raises:
        ArgumentError: a site fits no module, a head is not there, or a line cannot be replaced by what is given.
        ShapeError: a tensor, or what a function returned, does not fit in a line's place.
        TraceError: a site that was named was never met, or holds attention that cannot be replaced.

    Example:
        >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.randn(1, 5, 8)
        >>> with swap(layer, heads=[1], scores="zeros"):
        ...     _, weights = layer(x, x, x, average_attn_weights=False)
        >>> weights[0, 1, 4]
        tensor([0.2000, 0.2000, 0.2000, 0.2000, 0.2000], grad_fn=<SelectBackward0>)
    """
    choice = Choice(sites, heads)
    lines = lines_of(mask=mask, scale=scale, scores=scores, weights=weights, values=values, out=out)
    done = Swapped(choice, lines)
    watch = Watch(model, done.listen, done.miss, changes=True)
    if isinstance(model, nn.Module):
        named(choice, watch.names.values())
    with watched(watch):
        yield done
    done.finish()


class Swapped:
    """What a swap has done so far."""

    def __init__(self, choice: Choice, lines: Lines) -> None:
        self.calls: dict[str, int] = {}
        """How many calls have been swapped at each site."""
        self._choice, self._lines = choice, lines
        self._met: set[Site] = set()
        self._seen: dict[str, None] = {}
        self._missed: dict[str, str] = {}
        self._draws: dict[torch.device, torch.Generator] = {}
        self._lock = threading.Lock()

    def listen(self, attention: Attention, original: Callable[[], Tensor]) -> Tensor:
        """The output of a call, other in the heads that are chosen.

        Raises:
            ArgumentError: the site has no such head.
        """
        site = attention.site
        wanted = self._choice.wants(site)
        heads = self._choice.chosen(site) if wanted else ()
        with self._lock:
            self._seen.setdefault(site.name)
            if wanted:
                self._met.add(site)
                self.calls[site.name] = self.calls.get(site.name, 0) + 1
        if not wanted or self._lines.nothing:
            return original()
        waited_for = bool(attention.pending)
        attention.pending.append((heads, self._lines))
        out = original()
        # Who is asked first does all of them at once, those further in being known by then.
        return out if waited_for else self._all(attention, out)

    def miss(self, place: Place, why: str) -> None:
        """Remember attention that nothing can be replaced in."""
        if self._choice.wants(place) and not self._lines.nothing:
            self._missed.setdefault(place.name, why)

    def finish(self) -> None:
        """Nothing, where everything that was named has been met.

        Raises:
            TraceError: something has not.
        """
        wrong = complaint(self._choice, self._met, self._seen, self._missed)
        if wrong is not None:
            raise wrong

    def _all(self, attention: Attention, out: Tensor) -> Tensor:
        attention.note = "swapped"
        lines: dict[int, list[Lines]] = {}
        for heads, one in reversed(attention.pending):
            for head in heads:
                lines.setdefault(head, []).append(one)
        call = attention.trimmed()
        alike = sorted(lines, key=lambda head: ([*map(id, lines[head])], head))
        result = out
        for _, several in groupby(alike, key=lambda head: [*map(id, lines[head])]):
            heads = sorted(several)
            first, *others = lines[heads[0]]
            for other in others:
                first = first.then(other)
            found = swapped(call, out, heads, first, self._draw(attention))
            result = _with(result, heads, found.out)
            if found.weights is not None:
                before, key = attention.returned[0](), attention.key.shape[2]
                after = _with(before, heads, functional.pad(found.weights, (0, key - found.weights.shape[3])))
                attention.returned[0] = lambda after=after: after
        return result

    def _draw(self, attention: Attention) -> torch.Generator | None:
        """Random numbers for dropout that are not taken from the model's."""
        if not attention.dropout:
            return None
        device = attention.query.device
        if device not in self._draws:
            self._draws[device] = torch.Generator(device).manual_seed(torch.initial_seed())
        return self._draws[device]


def _with(tensor: Tensor, heads: list[int], new: Tensor) -> Tensor:
    """The tensor (batch, heads, …) with other numbers in some heads, and the very same in the others."""
    return tensor.index_copy(1, torch.tensor(heads, device=tensor.device), new.to(tensor.dtype))
