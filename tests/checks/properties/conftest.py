"""What every property's test needs: a target looked at by all properties."""

import pytest
import torch

from edgewise.checks.examine import examined
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.meaning.declared import Declared
from edgewise.checks.properties import PROPERTIES
from edgewise.graphs import parse


@pytest.fixture(autouse=True)
def doubles():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def observations(target, only=(), **declared):
    if isinstance(target, torch.nn.Module):
        target.eval()
    told = {name: declared.pop(name) for name in list(declared) if name not in Declared.__dataclass_fields__}
    if isinstance(declared.get("graph"), str):
        declared["graph"] = parse(declared["graph"])
    intent = Declared(**declared)
    lab = Lab(subject_of(target, intent, **told), intent)
    found = []
    for one in PROPERTIES:
        if not only or one.name in only:
            looked = examined(one, lab)
            assert not looked.mistake, (one.name, looked.mistake)
            found += looked.observations
    return found


@pytest.fixture
def observed():
    """All that the properties see of a target."""
    return observations


@pytest.fixture
def named():
    """By (property, kind), all that the properties see of a target and are sure of."""

    def look(target, **declared):
        found = {}
        for one in observations(target, **declared):
            if one.warning:
                continue
            found.setdefault((one.property, one.kind), []).append(one)
        return found

    return look
