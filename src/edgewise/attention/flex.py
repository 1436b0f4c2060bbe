"""The flex route: torch's compiled `flex_attention`, and a graph as the block mask that it skips by.

It is the route for structured graphs on a GPU. On a CPU it can be asked for: it compiles for seconds at each new graph
and shape, and it has no backward there.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, flex_attention

from edgewise.attention.call import Call, grouped, wants_gradients
from edgewise.graphs import Graph

__all__ = ["TILE", "block_mask", "obstacle", "run"]

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


def obstacle(call: Call) -> str | None:
    """What stands in this route's way, if anything."""
    if isinstance(call.graph, Tensor):
        return "a graph given as a tensor"
    if call.dropout:
        return "dropout"
    if call.query.dtype == torch.float64:
        return "float64"
    if call.query.dim() != 4:
        return f"{call.query.dim()} dimensions (it wants batch, heads, query, width)"
    if call.query.device.type == "cpu" and wants_gradients(call):
        return "gradients on a CPU"
    if call.query.device.type == "cpu" and call.sinks is not None:
        return "sinks on a CPU"
    return None


def run(call: Call) -> Tensor:
    """The output, from the compiled function."""
    query, key = call.query, call.key
    mask = None
    if call.graph is not None:
        assert isinstance(call.graph, Graph)
        mask = _mask(call.graph, query.shape[-2], key.shape[-2], str(query.device))
    bias, cap = call.bias, call.soft_cap
    if bias is not None:
        bias = bias.expand(*query.shape[:-1], key.shape[-2])

    def score(raw: Any, batch: Any, head: Any, row: Any, column: Any) -> Any:
        if cap is not None:
            raw = cap * torch.tanh(raw / cap)
        return raw if bias is None else raw + bias[batch, head, row, column]

    changes = score if cap is not None or bias is not None else None
    given = (query, key, call.value, changes, mask, call.scale, grouped(call) > 1)
    if call.sinks is None:
        return _compiled()(*given)
    out, more = _compiled()(*given, return_aux=AuxRequest(lse=True))
    # A sink with logit s leaves the keys the share e^L / (e^L + e^s), L being the logsumexp of their scores.
    share = torch.sigmoid(more.lse - call.sinks[:, None])
    return (out * share[..., None]).to(out.dtype)


# The function is compiled anew for a mask that it has not met, so an equal mask must be the same object.
_mask = lru_cache(maxsize=32)(block_mask)


@lru_cache(maxsize=1)
def _compiled() -> Any:
    # With fullgraph, torch says when it has compiled too often; without, it falls back to a slow path in silence.
    return torch.compile(flex_attention, fullgraph=True, dynamic=False)
