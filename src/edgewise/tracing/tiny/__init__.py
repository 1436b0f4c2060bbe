"""Small random models of every architecture that transformers knows, made from their configs with nothing fetched.

`tiny` builds one and finds something for it to read; `types` lists them, and `tasks` what one can be built for. `feeds`
offers things to read to any model of the library, by the names that it takes and what `number` finds in its config.
"""

from edgewise.tracing.tiny.build import Tiny, tiny
from edgewise.tracing.tiny.feeds import feeds
from edgewise.tracing.tiny.kinds import KINDS, Kind, library, tasks, types
from edgewise.tracing.tiny.numbers import number

__all__ = ["KINDS", "Kind", "Tiny", "feeds", "library", "number", "tasks", "tiny", "types"]
