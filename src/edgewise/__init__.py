"""edgewise: know what your attention does.

Attention is communication on a directed graph. Tokens are nodes, the mask says which edges exist, the scores say how
much each edge carries, the values are what travels. edgewise derives softmax(QKᵀ/√d)·V from "take an average" one
changed line at a time, and trains the small language models that stand on each line.

What a person calls is a verb and is offered here; each is loaded when it is first used, so that importing edgewise
loads nothing heavy. The rooms behind the verbs are nouns: `edgewise.graphs`, `edgewise.attention`, `edgewise.ladder`,
`edgewise.training`, `edgewise.derivation`, `edgewise.records`, `edgewise.tracing`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewise.attention import attend as attend
    from edgewise.checks import check as check
    from edgewise.derivation import derive as derive
    from edgewise.graphs import causal as causal
    from edgewise.graphs import chunks as chunks
    from edgewise.graphs import documents as documents
    from edgewise.graphs import full as full
    from edgewise.graphs import keys as keys
    from edgewise.graphs import prefix as prefix
    from edgewise.graphs import window as window
    from edgewise.tracing import record as record
    from edgewise.tracing import swap as swap
    from edgewise.tracing import trace as trace
    from edgewise.training import sample as sample
    from edgewise.training import train as train
    from edgewise.views import view as view

__version__ = "0.1.0"

_HOME = {
    "attend": "edgewise.attention",
    "causal": "edgewise.graphs",
    "check": "edgewise.checks",
    "chunks": "edgewise.graphs",
    "derive": "edgewise.derivation",
    "documents": "edgewise.graphs",
    "full": "edgewise.graphs",
    "keys": "edgewise.graphs",
    "prefix": "edgewise.graphs",
    "record": "edgewise.tracing",
    "sample": "edgewise.training",
    "swap": "edgewise.tracing",
    "trace": "edgewise.tracing",
    "train": "edgewise.training",
    "view": "edgewise.views",
    "window": "edgewise.graphs",
}

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'edgewise' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
