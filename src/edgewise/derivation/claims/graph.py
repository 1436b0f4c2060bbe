"""Attention is communication on a directed graph: edges, no sense of space, no edge between two sequences."""

import torch
from torch import Tensor, nn

from edgewise.attention import reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import above, below
from edgewise.graphs import causal, chunks, documents, full, prefix, window

__all__ = ["CLAIMS"]


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@claim("graph.edges-only", expected={"absent_edges_that_carry": 0, "present_edges_that_do_not": 0}, kind="property")
def edges_only() -> Measured:
    """What a token holds travels along the edges of the mask and nowhere else, however large its (finite) numbers."""
    graphs = (causal(), window(3), prefix(3), causal() & chunks(4), causal() & documents([0, 0, 0, 1, 1, 1, 2, 2]))
    query, key, value = _random(3, 8, 16)
    leaks = silent = 0
    for graph in graphs:
        before = reference(query, key, value, graph).out
        for read in range(8):
            louder_key, louder_value = key.clone(), value.clone()
            louder_key[read] += 1e3
            louder_value[read] = 3e38
            moved = (reference(query, louder_key, louder_value, graph).out != before).any(dim=1)
            # A key that has grown may lose its weight to rounding, so presence is asked of the value alone.
            heard = (reference(query, key, louder_value, graph).out != before).any(dim=1)
            edges = torch.tensor([bool(graph.allows(reader, read)) for reader in range(8)])
            leaks += int((moved & ~edges).sum())
            silent += int((edges & ~heard).sum())
    return {"graphs": len(graphs), "absent_edges_that_carry": leaks, "present_edges_that_do_not": silent}


@claim("space.permutation", expected={"attention": below(1e-5), "convolution": above(0.1)}, kind="property")
def permutation() -> Measured:
    """Without positions and mask attention has no left or right: shuffle the tokens, and the outputs are shuffled."""
    x, weights, order = _random(8, 32), _random(3, 32, 16, seed=1), torch.tensor([3, 0, 7, 1, 6, 2, 5, 4])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        convolve = nn.Conv1d(32, 16, kernel_size=3, padding=1)

    def attend(rows: Tensor) -> Tensor:
        query, key, value = (rows @ weight for weight in weights)
        return reference(query, key, value, full()).out

    def convolution(rows: Tensor) -> Tensor:
        return convolve(rows.T[None])[0].T

    return {
        "attention": (attend(x[order]) - attend(x)[order]).abs().max().item(),
        "convolution": (convolution(x[order]) - convolution(x)[order]).abs().max().item(),
    }


@claim("batch.no-communication", expected={"sequence_0_equal": True, "sequence_1_equal": False}, kind="exact")
def no_communication() -> Measured:
    """Replace sequence 1 of a batch and the output of sequence 0 does not change by one bit."""
    x, weights = _random(2, 8, 32), _random(3, 32, 16, seed=1)
    replaced = torch.stack([x[0], _random(8, 32, seed=2)])
    before, after = (_head(batch, weights) for batch in (x, replaced))
    return {
        "sequence_0_equal": torch.equal(before[0], after[0]),
        "sequence_1_equal": torch.equal(before[1], after[1]),
    }


@claim("batch.learning-couples", expected={"before_step": 0.0, "after_step": above(1e-4)}, kind="property")
def learning_couples() -> Measured:
    """One step of learning later the replacement does reach sequence 0: the parameters carry it."""
    x = _random(2, 8, 32)
    replaced = torch.stack([x[0], _random(8, 32, seed=2)])
    before, after = zip(*(_step(batch) for batch in (x, replaced)), strict=True)
    return {
        "before_step": (before[0] - before[1]).abs().max().item(),
        "after_step": (after[0] - after[1]).abs().max().item(),
    }


def _step(batch: Tensor) -> tuple[Tensor, Tensor]:
    """Sequence 0's output before and after one step of gradient descent on the whole batch."""
    weights = _random(3, 32, 16, seed=1).requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=0.01)

    before = _head(batch, weights)
    before.square().mean().backward()
    optimiser.step()
    return before[0].detach(), _head(batch, weights)[0].detach()


def _head(x: Tensor, weights: Tensor) -> Tensor:
    query, key, value = (x @ weight for weight in weights)
    return reference(query, key, value, causal()).out


CLAIMS: tuple[Claim, ...] = (edges_only, permutation, no_communication, learning_couples)
