"""A graph as the block mask that `flex_attention` skips by."""

import numpy as np
import torch
from torch.nn.attention.flex_attention import BlockMask

from edgewise.graphs import Graph

__all__ = ["TILE", "block_mask"]

# Rows and keys of a tile: flex_attention's own default.
TILE = 128


def block_mask(graph: Graph, query: int, key: int, device: torch.device | str = "cpu") -> BlockMask:
    """Return the block mask of a graph at these lengths, in O(query × runs + tiles): torch's own takes O(query × key).

    Tiles without an edge are skipped, tiles of edges alone run without a mask, the others ask the graph's rule about
    each cell. A graph that is the same for all sequences fits any batch.
    """
    counts = graph.tiles(query, key, TILE, TILE)
    counts = counts.reshape(-1, 1, *counts.shape[-2:])
    # A tile that is cut short at an end is never called full: the kernel would read past the end without asking.
    full = counts == TILE * TILE
    arrays = tuple(torch.from_numpy(array.copy()).to(device) for array in graph.arrays())
    offset = key - query
    return BlockMask.from_kv_blocks(
        *_listed((counts > 0) & ~full, device),
        *_listed(full, device),
        BLOCK_SIZE=TILE,
        mask_mod=lambda batch, _head, row, column: graph.allows(row + offset, column, batch, arrays),
        seq_lengths=(query, key),
    )


def _listed(chosen: np.ndarray, device: torch.device | str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how many tiles of each line are chosen, and which, the chosen ones first."""
    order = np.argsort(~chosen, axis=-1, kind="stable").astype(np.int32)
    number = chosen.sum(-1).astype(np.int32)
    return torch.from_numpy(number).to(device), torch.from_numpy(order).to(device)
