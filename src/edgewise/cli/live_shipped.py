"""The shipped page's model: the small run that edgewise carries, loaded when the page first asks something of it."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from edgewise.samples import shipped
from edgewise.views import Can, Seen, Switch, Trained

if TYPE_CHECKING:
    from edgewise.cli.live import ModelLive

__all__ = ["ShippedLive"]


class ShippedLive:
    """The run that edgewise carries; opening the page loads no torch."""

    can = Can()

    @cached_property
    def _live(self) -> "ModelLive":
        from edgewise.cli.live import ModelLive
        from edgewise.cli.live_training import Training
        from edgewise.cli.run_target import run_target

        return ModelLive(run_target(str(shipped()), dtype=None, device="cpu"), Training())

    def swapped(self, seen: Seen, switches: Sequence[Switch], stop: Callable[[], bool]) -> Seen:
        """Run what a run has read with lines replaced."""
        return self._live.swapped(seen, switches, stop)

    def read(self, text: str, generate: int, stop: Callable[[], bool]) -> Seen:
        """Run another text, and go on from it."""
        return self._live.read(text, generate, stop)

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung of the ladder."""
        return self._live.train(rung, steps, stop)

    def product(self, seen: Seen, site: str, head: int) -> Any:
        """W_q W_kᵀ of a head."""
        return self._live.product(seen, site, head)
