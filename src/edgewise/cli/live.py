"""A model behind the page: it runs again with lines replaced, reads other texts, goes on: tracing meets views here."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from edgewise.cli.live_product import product
from edgewise.errors import ArgumentError, RunError
from edgewise.tracing import Feed, Given, Target, Watch, called, feed, swap, trace, watched
from edgewise.views import Can, Output, Seen, Switch, Trained

__all__ = ["ModelLive", "Stopped"]

LIKELIEST = 8
REPLACED: dict[str, dict[str, Any]] = {
    "scores=zeros": {"scores": "zeros"},
    "mask=none": {"mask": "none"},
    "scale=1": {"scale": 1.0},
    "out=zeros": {"out": "zeros"},
    "out=mean": {"out": "mean"},
}


class Stopped(RunError):  # noqa: N818 — it is no error: somebody closed the page
    """Nobody waits for this run any more."""


class ModelLive:
    """A target that was named, as the page asks for it.

    Args:
        target: the model.
        trains: what trains the ladder's rungs; None where the page cannot.
    """

    def __init__(self, target: Target, trains: "Trains | None" = None) -> None:
        self._target, self._trains = target, trains
        no_text = "" if target.reader is not None else f"{target.name} came without a tokenizer"
        writes = target.write is not None or hasattr(target.model, "generate")
        no_writing = no_text or ("" if writes else f"{target.name} has no way of its own to go on with a text")
        self.can = Can("", no_text, no_writing, "" if trains is not None else "training starts from the shipped page")

    def first(self, given: Given) -> Seen:
        """Run what it is given at the start.

        Raises:
            EdgewiseError: it cannot be run on that.
        """
        return self._seen(feed(self._target, given), (), _never)

    def swapped(self, seen: Seen, switches: Sequence[Switch], stop: Callable[[], bool]) -> Seen:
        """Run what a run has read with lines replaced."""
        fed = seen.reading
        if fed is None:  # a record from a file, beside its model
            fed = feed(self._target, Given(text="".join((seen.record.tokens or ((),))[0])))
        return self._seen(fed, switches, stop)

    def read(self, text: str, generate: int, stop: Callable[[], bool]) -> Seen:
        """Run another text, and go on from it."""
        return self._seen(feed(self._target, Given(text=text, generate=generate)), (), stop)

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung of the ladder."""
        if self._trains is None:
            raise ArgumentError(self.can.train)
        return self._trains.train(rung, steps, stop)

    def product(self, seen: Seen, site: str, head: int) -> Any:
        """W_q W_kᵀ of a head."""
        at = seen.record.call(site).site
        return product(self._target.model, at.name, head, at.heads, at.groups, at.width).cpu().numpy()

    def _seen(self, fed: Feed, switches: Sequence[Switch], stop: Callable[[], bool]) -> Seen:
        model, result = self._target.model, None

        def listen(attention: Any, original: Callable[[], Tensor]) -> Tensor:
            del attention
            if stop():
                raise Stopped("stopped: nobody waits for this any more")
            return original()

        with torch.no_grad(), ExitStack() as during:
            during.enter_context(watched(Watch(model, listen)))
            run = during.enter_context(trace(model, copy=fed.forward is not None))
            for one in switches:
                heads = None if one.heads is None else list(one.heads)
                during.enter_context(swap(model, one.site, heads=heads, **REPLACED[one.line]))
            result = (fed.forward or called)(model, fed.inputs)
        about: dict[str, Any] = {"target": self._target.name, **fed.about()}
        run.describe(**about)
        return Seen(run.record(), output_of(result, fed, self._target), fed)


class Trains:
    """What trains rungs for the page; see cli/live_training.py."""

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung."""
        raise NotImplementedError


def output_of(result: Any, fed: Feed, target: Target) -> Output | None:
    """The likeliest next tokens and the loss over the text; None for a model that says no tokens."""
    if isinstance(result, tuple) and len(result) == 2 and fed.forward is not None:
        logits, ids = result[1][-1] if len(result[1]) else None, None
    else:
        logits, ids = _logits(result), _read_ids(fed)
    if not isinstance(logits, Tensor) or not logits.is_floating_point() or logits.dim() < 2:
        return None
    logits = logits.float()
    last = logits[0] if logits.dim() == 2 else logits[0, -1]
    likely = torch.topk(last.softmax(-1), min(LIKELIEST, last.numel()))
    names = [_name(int(one), target) for one in likely.indices]
    return Output(tuple(zip(names, likely.values.tolist(), strict=True)), _loss(logits, ids))


def _loss(logits: Tensor, ids: Tensor | None) -> float | None:
    if ids is None or logits.dim() != 3 or logits.shape[1] != ids.shape[-1] or ids.shape[-1] < 2:
        return None
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    return float(loss) if math.isfinite(loss) else None


def _logits(result: Any) -> Any:
    found = getattr(result, "logits", None)
    if found is None and isinstance(result, Mapping):
        found = result.get("logits")
    if found is None and isinstance(result, tuple) and result:
        found = result[0]
    return result if found is None else found


def _read_ids(fed: Feed) -> Tensor | None:
    """The tokens that the logits follow, of a model that predicts the next one."""
    inputs = fed.inputs
    if isinstance(inputs, Mapping):
        found = inputs.get("decoder_input_ids", inputs.get("input_ids"))
    else:
        found = inputs[0] if isinstance(inputs, tuple) and inputs else inputs
    return found if isinstance(found, Tensor) and found.dtype == torch.long and found.dim() == 2 else None


def _name(one: int, target: Target) -> str:
    return str(one) if target.reader is None else target.reader.pieces([one])[0]


def _never() -> bool:
    return False
