"""What every test shares: shapes in signatures are checked as the code runs, no network, fixed seeds."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

os.environ["EDGEWISE_OFFLINE"] = "1"
os.environ.setdefault("MPLBACKEND", "agg")

# Before the first import of these rooms: from here on a call whose tensors lack the annotated shapes is an error.
install_import_hook(["edgewise.attention", "edgewise.ladder"], "beartype.beartype")

ROOT = Path(__file__).parents[1]
SHAKESPEARE = ROOT.parent / "shared" / "data" / "tinyshakespeare.txt"

settings.register_profile(
    "edgewise", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("edgewise")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def shakespeare() -> Path:
    """Where tinyshakespeare lies beside this checkout; a test that wants it is skipped where it does not."""
    if not SHAKESPEARE.is_file():
        pytest.skip("needs tinyshakespeare beside the checkout: ../shared/data/tinyshakespeare.txt")
    return SHAKESPEARE
