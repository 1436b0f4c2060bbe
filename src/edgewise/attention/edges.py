"""The graph of a call as tensors: which edges exist, as booleans or as something to add to the scores.

Graphs know no torch and no device; this file is where the two meet. What it makes is as large as query × key, without
heads or batch unless the graph itself differs by sequence.
"""

from typing import Literal

import torch
from torch import Tensor

from edgewise.attention.call import Call
from edgewise.graphs import Graph, causal, full

__all__ = ["Simple", "additive", "allowed", "simple"]

Simple = Literal["everything", "causal"]
_CAUSAL, _FULL = causal(), full()


def simple(graph: Graph | Tensor | None, query: int) -> Simple | None:
    """Whether the graph is "everything" or "causal", so that no mask is needed to say it; None where one is.

    A single query under causal() is the last position and sees everything.
    """
    if graph is None:
        return "everything"
    if isinstance(graph, Tensor):
        return None
    if graph == _CAUSAL:
        return "everything" if query == 1 else "causal"
    return "everything" if graph == _FULL else None


def allowed(call: Call) -> Tensor | None:
    """True where the query may read the key, broadcasting over the scores; None where every edge exists."""
    graph, query, key = call.graph, call.query.shape[-2], call.key.shape[-2]
    if graph is None or isinstance(graph, Tensor):
        return graph
    kind = simple(graph, query)
    if kind == "everything":
        return None
    if kind == "causal":
        return torch.ones(query, key, dtype=torch.bool, device=call.query.device).tril_(key - query)
    dense = torch.from_numpy(graph.dense(query, key)).to(call.query.device)
    if dense.dim() == 3:
        # The sequences of a batch-dependent graph lie on the first axis; every axis from it to the query shares them.
        dense = dense.reshape(dense.shape[0], *(1,) * (call.query.dim() - 3), query, key)
    return dense


def additive(call: Call, dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
    """What to add to the scores, bias included, and which rows to empty afterwards; None for neither.

    A row of nothing but −∞ has no softmax, so a query with no key is given zeros here, and its output must be emptied.
    """
    query, key = call.query.shape[-2], call.key.shape[-2]
    if call.bias is None and query <= key and simple(call.graph, query) == "causal":
        # Every row sees at least its own key.
        return torch.full((query, key), -torch.inf, dtype=dtype, device=call.query.device).triu_(key - query + 1), None
    edges = allowed(call)
    if call.bias is None and edges is None:
        return None, None
    mask = torch.zeros((), dtype=dtype, device=call.query.device) if call.bias is None else call.bias.to(dtype)
    if edges is not None:
        mask = torch.where(edges, mask, -torch.inf)
    nobody = (mask == -torch.inf).all(-1, keepdim=True)
    return mask.masked_fill(nobody, 0), nobody
