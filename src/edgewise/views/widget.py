"""The notebook's face: the same page as an object of Jupyter, VS Code, marimo and Colab."""

from typing import Any

from edgewise.errors import MissingError
from edgewise.records import Record
from edgewise.views.html import bundle
from edgewise.views.live import NONE, Output
from edgewise.views.packing import Packing
from edgewise.views.scene import scene

__all__ = ["widget"]


def widget(record: Record, output: Output | None = None) -> Any:
    """A record as an object that a notebook draws: an `anywidget.AnyWidget`.

    Raises:
        MissingError: anywidget is not installed, or the page was not built.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingError(
            "a notebook draws this with anywidget, which is not installed: pip install 'edgewise[notebook]'"
        ) from None
    packing = Packing(record.calls)

    class Widget(anywidget.AnyWidget):  # pyright: ignore[reportUntypedBaseClass]
        _esm = bundle()
        scene = traitlets.Dict().tag(sync=True)
        packed = traitlets.List().tag(sync=True)
        bytes = traitlets.Bytes().tag(sync=True)

    return Widget(scene=scene(record, NONE, output), packed=packing.index, bytes=packing.bytes())
