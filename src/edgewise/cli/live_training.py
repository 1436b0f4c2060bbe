"""The ladder behind the page: its rungs as they stand in the source, and their training, told of as it goes."""

from collections.abc import Callable, Iterator
from typing import Any

from edgewise.cli.live import Trains
from edgewise.views import Trained

__all__ = ["Training"]


class Training(Trains):
    """Trains rungs on the text that edgewise trains on."""

    def train(self, rung: str, steps: int, stop: Callable[[], bool]) -> Iterator[Trained]:
        """Train a rung."""
        raise NotImplementedError

    def ladder(self) -> dict[str, Any]:
        """What the ladder's pages show."""
        raise NotImplementedError
