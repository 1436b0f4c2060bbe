"""How a record came about: versions and the date."""

import sys
from datetime import UTC, datetime

import torch

from edgewise import __version__

__all__ = ["made"]


def made() -> dict[str, str]:
    """The versions of what was running, and the date."""
    found = {"edgewise": __version__, "torch": torch.__version__}
    library = sys.modules.get("transformers")
    if library is not None:
        found["transformers"] = library.__version__
    return {**found, "date": datetime.now(UTC).date().isoformat()}
