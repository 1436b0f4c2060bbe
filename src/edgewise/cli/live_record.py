"""A record's page: its model is not at hand, but the ladder can be trained from there too."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from edgewise.errors import ArgumentError
from edgewise.views import NONE, Seen, Switch, Trained

__all__ = ["RecordLive"]


class RecordLive:
    """What a page of a record can do; opening it loads no torch."""

    can = replace(NONE, train="")

    def swapped(self, seen: Seen, switches: Sequence[Switch], stop: Callable[[], bool]) -> Seen:
        """Say why not."""
        del seen, switches, stop
        raise ArgumentError(self.can.swap)

    def read(self, text: str, generate: int, stop: Callable[[], bool]) -> Seen:
        """Say why not."""
        del text, generate, stop
        raise ArgumentError(self.can.text)

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung of the ladder."""
        from edgewise.cli.live_training import Training

        return Training().train(rung, steps, stop)

    def product(self, seen: Seen, site: str, head: int) -> Any:
        """Say why not."""
        del seen, site, head
        raise ArgumentError(self.can.product)
