"""A model that reads no text without a picture or a sound: one goes before the text in each call that begins."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.tracing.tiny import feeds

__all__ = ["Beside", "besides"]


class Beside(nn.Module):
    """A model of the library that is given what it wants besides; the text that is looked at comes after that.

    Args:
        model: from the library.
        feed: named inputs that it accepts for one sequence, tokens by number among them.
    """

    def __init__(self, model: nn.Module, feed: Mapping[str, Any]) -> None:
        super().__init__()
        self.inner = model
        self._ahead: Tensor = feed["input_ids"]
        self._feed = {name: one for name, one in feed.items() if name not in ("input_ids", "attention_mask")}
        self._takes = set(inspect.signature(model.forward).parameters)

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked of it, the model answers."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        cache: Any = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
    ) -> dict[str, Any]:
        """What the model answers for the text alone."""
        batch, length = input_ids.shape
        ahead = self._ahead.to(input_ids.device).expand(batch, -1)
        named: dict[str, Any] = {"output_attentions": output_attentions}
        if use_cache is not None:
            named["use_cache"] = use_cache
        if cache is None:
            named |= {name: self._long(one, batch, length) for name, one in self._feed.items()}
            input_ids = torch.cat([ahead, input_ids], 1)
        else:
            named["cache" if "cache" in self._takes else "past_key_values"] = cache
        if attention_mask is not None:
            named["attention_mask"] = torch.cat([torch.ones_like(ahead).to(attention_mask), attention_mask], 1)
        made = self.inner(input_ids=input_ids, **named)
        found = {name: made.get(name) for name in ("attentions", "cache", "past_key_values")}
        return {"logits": made.logits[:, -length:], **{name: one for name, one in found.items() if one is not None}}

    def _long(self, value: Any, batch: int, more: int) -> Any:
        """One for each sequence, and as long as the text where it says something of each token."""
        if not isinstance(value, Tensor) or not value.dim():
            return value
        own = next(self.inner.parameters())
        value = value.to(own.device, own.dtype if value.is_floating_point() else None)
        if value.dim() > 1 and value.shape[:2] == self._ahead.shape and value.dtype != torch.long:
            last = value[:, -1:].repeat_interleave(more, 1)
            value = torch.cat([value, last], 1)
        return value.repeat_interleave(batch, 0)


def besides(model: nn.Module) -> Iterator[Beside]:
    """The model beside each picture or sound that might be offered with a text."""
    for _, feed in feeds(model):
        ids = feed.get("input_ids")
        if isinstance(ids, Tensor) and ids.dim() == 2 and len(ids) == 1 and len(feed) > 1:
            yield Beside(model, feed)
