"""The models: one rung a file, each a complete tiny language model, each a few lines away from the one it follows.

A file repeats what it shares with its neighbours on purpose, so that it can be read alone and so that the difference
between two files is the idea. `edgewise.ladder.RUNGS` has their order; `edgewise.ladder.change` shows the difference.
"""

__all__: list[str] = []
