"""Which direction: "normalise" means nothing until somebody says who shares out to whom."""

import torch
from torch import Tensor, nn

from edgewise.attention import Along, reference
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import near
from edgewise.graphs import causal

__all__ = ["CLAIMS", "MATRIX", "shared"]

MATRIX = torch.tensor([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0], [3.0, 3.0, 2.0]])


def shared(along: Along) -> Tensor:
    """Return `MATRIX` divided by its sums along one direction, by the reference."""
    return reference(MATRIX, torch.eye(3), torch.eye(3), scale=1.0, normalise="sum", along=along).weights


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@claim("direction.row", expected={"sums": [2, 4, 8], "third": [0.375, 0.375, 0.25]}, kind="exact")
def row() -> Measured:
    """The rows 1 1 0, 2 1 1 and 3 3 2 sum to 2, 4 and 8; shared out by row, the third becomes 0.375, 0.375, 0.25."""
    return {"sums": MATRIX.sum(dim=1).tolist(), "third": shared("keys")[2].tolist()}


@claim("direction.differs", expected={"distinct": 3}, kind="exact")
def differs() -> Measured:
    """By row, by column and as a whole, the same matrix becomes three different ones."""
    results = {along: shared(along) for along in ("keys", "queries", "all")}
    distinct = {tuple(matrix.flatten().tolist()) for matrix in results.values()}
    return {"distinct": len(distinct), "third_rows": [matrix[2].tolist() for matrix in results.values()]}


@claim(
    "direction.row-stochastic",
    expected={"negative": 0, "row_sums": near([1.0] * 8, 1e-6), "columns_sum_to_one": False},
    kind="property",
)
def row_stochastic() -> Measured:
    """The weights of attention are never negative and each query's row sums to 1; a key's column need not."""
    weights = reference(_random(8, 4), _random(8, 4), _random(8, 4), causal()).weights
    return {
        "negative": int((weights < 0).sum()),
        "row_sums": weights.sum(dim=1).tolist(),
        "columns_sum_to_one": bool(((weights.sum(dim=0) - 1).abs() < 1e-3).all()),
    }


@claim(
    "direction.batchnorm-couples",
    expected={"batchnorm_equal": False, "layernorm_equal": True},
    kind="property",
)
def batchnorm_couples() -> Measured:
    """BatchNorm goes down the columns, so a sample's output depends on its company; LayerNorm goes along its row."""
    sample, first, second = _random(1, 6), _random(3, 6), _random(3, 6) + 1
    batches = [torch.cat([sample, others]) for others in (first, second)]
    by_column = [nn.BatchNorm1d(6)(batch)[0] for batch in batches]
    by_row = [nn.LayerNorm(6)(batch)[0] for batch in batches]
    return {
        "batchnorm_equal": torch.equal(*by_column),
        "layernorm_equal": torch.equal(*by_row),
        "batchnorm_first_channel": [out[0].item() for out in by_column],
    }


@claim(
    "direction.batch-of-one",
    expected={"batchnorm_usable": False, "layernorm_usable": True},
    kind="property",
)
def batch_of_one() -> Measured:
    """With one sample, one number a channel, BatchNorm has no spread to train with and refuses; LayerNorm works."""
    return {"batchnorm_usable": _usable(nn.BatchNorm1d(6)), "layernorm_usable": _usable(nn.LayerNorm(6))}


def _usable(layer: nn.Module) -> bool:
    try:
        return bool(layer.train()(_random(1, 6)).abs().sum() > 0)
    except ValueError:
        return False


CLAIMS: tuple[Claim, ...] = (row, differs, row_stochastic, batchnorm_couples, batch_of_one)
