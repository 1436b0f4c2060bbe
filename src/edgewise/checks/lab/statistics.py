"""Whether a target learns from what it reads in training, without a step: batch statistics, a spectral norm."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from edgewise.checks.calls.calling import Refused, call, held
from edgewise.checks.calls.route import Route

if TYPE_CHECKING:
    from edgewise.checks.lab.lab import Lab

__all__ = ["keeps_statistics"]


def keeps_statistics(lab: "Lab", route: Route) -> bool:
    """Return whether buffers of the target change in a call: in training it then answers otherwise by design.

    Args:
        lab: what measures.
        route: one in training mode.
    """
    own = replace(route, dtype=None)
    return lab.once(("keeps statistics", own), lambda: _keeps(lab, own))


def _keeps(lab: "Lab", route: Route) -> bool:
    subject = lab.subject
    before = [(one, one.detach().clone()) for module in subject.held for one in module.buffers()]
    if not before:
        return False
    given = lab.given(route).to(subject.dtype, subject.device)
    try:
        # Buffers are put back after a call, so that they are looked at before.
        with held(subject, route):
            call(subject, given, route)
            return any(not torch.equal(one, was) for one, was in before if one.is_floating_point())
    except Refused:
        return False
