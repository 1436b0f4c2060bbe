"""Small random models of every architecture that transformers knows, made from their configs with nothing fetched.

`tiny` builds one and finds something for it to read; `types` lists them.
"""

from edgewise.tracing.tiny.build import Tiny, tiny
from edgewise.tracing.tiny.kinds import KINDS, Kind, library, types

__all__ = ["KINDS", "Kind", "Tiny", "library", "tiny", "types"]
