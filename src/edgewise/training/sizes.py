"""Named sizes of model; their vocabulary is that of the text."""

from edgewise.errors import ArgumentError
from edgewise.ladder import Size

__all__ = ["SIZES", "named_size"]

SIZES: dict[str, Size] = {
    "tiny": Size(vocabulary=1, block=32, width=64, heads=2, layers=2),
    "small": Size(vocabulary=1, block=64, width=128, heads=4, layers=4),
    "medium": Size(vocabulary=1, block=256, width=384, heads=6, layers=6, dropout=0.2),
    "large": Size(vocabulary=1, block=1024, width=768, heads=12, layers=12),
}


def named_size(name: str) -> Size:
    """Return the size of that name.

    Raises:
        ArgumentError: there is none.
    """
    if name not in SIZES:
        raise ArgumentError(f"no size is called {name!r}; the sizes are {', '.join(SIZES)}")
    return SIZES[name]
