import numpy as np
import torch
from torch import Tensor, nn

from edgewise.derivation.lesson import losses, writing_loss


class Knows(nn.Module):
    """Knows that each token is followed by the next number, if it may see what comes after."""

    def __init__(self, cheats: bool) -> None:
        super().__init__()
        self.cheats = cheats

    def forward(self, tokens: Tensor) -> Tensor:
        following = (tokens + 1) % 10
        if self.cheats:
            following[:, -1] = 0
        return 20.0 * nn.functional.one_hot(following, 10)


def test_losses_are_told_by_position() -> None:
    count = np.arange(400) % 10
    assert losses(Knows(cheats=False), count, block=8).max() < 1e-6
    cheated = losses(Knows(cheats=True), count, block=8)
    assert cheated[:-1].max() < 1e-6
    assert cheated[-1] > 10


def test_the_loss_of_writing_gives_nothing_that_comes_after() -> None:
    count = np.arange(400) % 10
    assert writing_loss(Knows(cheats=False), count, block=8) < 1e-6
    assert writing_loss(Knows(cheats=True), count, block=8) > 10


def test_positions_that_are_not_asked_do_not_count() -> None:
    def only_first(tokens: Tensor, following: Tensor) -> tuple[Tensor, Tensor]:
        return tokens, torch.where(torch.arange(8) == 0, following, -100)

    found = losses(Knows(cheats=False), np.arange(400) % 10, block=8, ask=only_first)
    assert found[0] < 1e-6
    assert found[1:].isnan().all()
