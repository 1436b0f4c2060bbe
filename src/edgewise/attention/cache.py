"""The keys and values of what has been read so far, held by an object that the caller owns.

Writing one token at a time needs the keys and values of every earlier one, and recomputing them makes each token as
dear as the whole text. A cache remembers them. Because graphs are aligned at the end, `attend(query,
*cache.append(key, value), graph)` is right for one new token, for a chunk of them and for the whole text alike.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from edgewise.errors import ArgumentError, ShapeError

__all__ = ["KeyValueCache"]

_ROOM = 64


class KeyValueCache:
    """Keys and values of the positions read so far, in order, without gradients.

    Args:
        window: keys that a query may reach, its own included, at least 1: older ones are dropped, so that memory stays
            bounded. For graphs within `window(n)`, whose edges depend on the distance alone; None keeps everything.
        capacity: positions to make room for at once; more are found when needed, doubling, so that no position is
            copied more than a few times.

    Raises:
        ArgumentError: a number is too small.

    Example:
        >>> from edgewise.attention import attend
        >>> from edgewise.graphs import causal
        >>> x, cache = torch.randn(1, 2, 5, 4), KeyValueCache()
        >>> steps = [attend(t, *cache.append(t, t), causal()) for t in x.split(1, dim=-2)]
        >>> torch.testing.assert_close(torch.cat(steps, -2), attend(x, x, x, causal()))
    """

    def __init__(self, *, window: int | None = None, capacity: int = 0) -> None:
        if window is not None and window < 1:
            raise ArgumentError(f"window must be at least 1 key, the query's own; got {window}")
        if capacity < 0:
            raise ArgumentError(f"capacity must be at least 0 positions; got {capacity}")
        self.window = window
        self.position = 0
        """Positions read so far, dropped ones included: the position of the next token."""
        self._capacity = capacity
        self._key: Tensor | None = None
        self._value: Tensor | None = None
        # The slots of the buffers in use; old ones before them are free once the end is reached.
        self._start = 0
        self._stop = 0

    @property
    def length(self) -> int:
        """Keys held now: as many as the last `append` returned."""
        return self._stop - self._start

    def append(
        self, key: Float[Tensor, "*lead new width"], value: Float[Tensor, "*lead new channels"]
    ) -> tuple[Float[Tensor, "*lead held width"], Float[Tensor, "*lead held channels"]]:
        """All keys and values that the new positions may need, their own at the end.

        What comes back are views that the next call may overwrite. With a window the first keys are dropped that not
        even the first new position can reach.

        Raises:
            ShapeError: the new keys do not fit the new values, or those already held.
            ArgumentError: they have another dtype or device than those held.
        """
        self._check(key, value)
        new = key.shape[-2]
        if self.window is not None:
            self._start = max(self._start, self._stop - (self.window - 1))
        self._make_room(key, value, new)
        assert self._key is not None
        assert self._value is not None
        self._key[..., self._stop : self._stop + new, :] = key.detach()
        self._value[..., self._stop : self._stop + new, :] = value.detach()
        self._stop += new
        self.position += new
        held = slice(self._start, self._stop)
        return self._key[..., held, :], self._value[..., held, :]

    def crop(self, length: int) -> None:
        """Forget all but the first `length` positions, as if the others had never been read.

        Raises:
            ArgumentError: so many were never read, or the window has dropped keys that would be needed again.
        """
        if not 0 <= length <= self.position:
            raise ArgumentError(f"crop needs a length from 0 to {self.position}, the positions read; got {length}")
        dropped = self.position - self.length
        needed = length if self.window is None else min(length, self.window - 1)
        if length - dropped < needed:
            raise ArgumentError(
                f"crop({length}) needs the {needed} keys before position {length}, and the window has dropped all "
                f"before position {dropped}: reset() and read again"
            )
        self._stop -= self.position - length
        self.position = length

    def reorder(self, index: Int[Tensor, "batch"]) -> None:
        """Put the sequence `index[i]` of the first axis in place i, as beam search does; repeats and gaps are fine.

        Raises:
            ShapeError: there is no batch axis.
        """
        if self._key is None or self._value is None:
            return
        if self._key.dim() < 3:
            raise ShapeError(f"reorder needs keys with a batch axis first; got {tuple(self._key.shape)}")
        self._key, self._value = self._key.index_select(0, index), self._value.index_select(0, index)

    def reset(self) -> None:
        """Forget everything; a new text of another shape may follow."""
        self._key = self._value = None
        self._start = self._stop = self.position = 0

    def _make_room(self, key: Tensor, value: Tensor, new: int) -> None:
        held = self.length
        room = 0 if self._key is None else self._key.shape[-2]
        if self._stop + new <= room and self._key is not None:
            return
        # Moving to the front pays off only if as much is free afterwards as is moved; otherwise grow.
        grow = 2 * (held + new) > room
        size = max(self._capacity, held + new + max(_ROOM, held + new)) if grow else room
        self._key = self._moved(self._key, key, size)
        self._value = self._moved(self._value, value, size)
        self._start, self._stop = 0, held

    def _moved(self, buffer: Tensor | None, like: Tensor, size: int) -> Tensor:
        fresh = torch.empty((*like.shape[:-2], size, like.shape[-1]), dtype=like.dtype, device=like.device)
        if buffer is not None:
            fresh[..., : self.length, :] = buffer[..., self._start : self._stop, :]
        return fresh

    def _check(self, key: Tensor, value: Tensor) -> None:
        if key.dim() < 2 or key.shape[:-1] != value.shape[:-1]:
            raise ShapeError(
                f"key and value must agree in all but width, (…, new, width); got {tuple(key.shape)} and "
                f"{tuple(value.shape)}"
            )
        for name, held, given in (("key", self._key, key), ("value", self._value, value)):
            if held is None:
                continue
            if (*held.shape[:-2], held.shape[-1]) != (*given.shape[:-2], given.shape[-1]):
                wanted = ", ".join([*map(str, held.shape[:-2]), "new", str(held.shape[-1])])
                raise ShapeError(f"{name} must be ({wanted}) like those held; got {tuple(given.shape)}: reset() first?")
            if held.dtype != given.dtype or held.device != given.device:
                raise ArgumentError(
                    f"{name} must be {held.dtype} on {held.device} like those held; got {given.dtype} on {given.device}"
                )
