"""Views: a record drawn, with one set of numbers and four faces: page, notebook, terminal, and a file that is whole.

`scene` says what is drawn; every face is made from it. Nothing here knows torch: what needs the model itself is asked
of a `Live`, which the caller gives.
"""

from edgewise.views.html import html, write_html
from edgewise.views.live import LINES, NONE, Can, Live, Output, Seen, Switch, Trained
from edgewise.views.packing import Packing
from edgewise.views.scene import SCENE, scene
from edgewise.views.text import text
from edgewise.views.view import View, view

__all__ = [
    "LINES",
    "NONE",
    "SCENE",
    "Can",
    "Live",
    "Output",
    "Packing",
    "Seen",
    "Switch",
    "Trained",
    "View",
    "html",
    "scene",
    "text",
    "view",
    "write_html",
]
