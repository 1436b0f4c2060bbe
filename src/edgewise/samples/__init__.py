"""One small run that edgewise carries, so that there is something to write with, and to look at, offline.

It is a run folder as `edgewise train` makes it, with weights alone, stored in half precision: a GPT that has read the
English prose of CPython's own documentation. `provenance.json` beside it says how it was made, `trace.edgewise` is
its attention on a line of text, and `scripts/samples` makes all of it again. Nothing here loads torch.
"""

from pathlib import Path

__all__ = ["shipped"]


def shipped() -> Path:
    """Return the folder of the run that edgewise carries.

    Example:
        >>> sorted(path.name for path in shipped().iterdir())
        ['best.safetensors', 'provenance.json', 'run.json', 'tokenizer.json', 'trace.edgewise']
    """
    return Path(__file__).parent / "topics"
