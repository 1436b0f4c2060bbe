"""Causes: from many observations to one finding that can be acted on.

`folding` tells causes from consequences, `locate` finds the module at fault, `shrink` the smallest input that shows it.
"""

__all__: list[str] = []
