"""What moves so little that a coarser dtype cannot show it: −100 hides in float32, and all but hides in float64."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool

from edgewise.checks.calls.calling import Refused
from edgewise.checks.reading.row import Row

__all__ = ["faint"]


def faint(row: Row) -> Bool[np.ndarray, "query key"]:
    """Return which tokens pull at an output by less than the route's dtype can tell, of the largest pull there is."""
    none = np.zeros_like(row.moved)
    if row.route.dtype is None or not row.missing.any():
        return none
    lab = row.lab
    try:
        pull = lab.influence(replace(row.route, dtype=None), row.row, row.given).pull
    except Refused:
        return none
    if pull is None or tuple(pull.shape) != none.shape or not bool(pull.isfinite().all()):
        return none
    least = torch.finfo(getattr(torch, row.route.dtype)).eps * float(pull.max())
    return (pull < least).cpu().numpy()
