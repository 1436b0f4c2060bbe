"""Putting something else in the place of one line of attention, in some heads of some sites, while a model runs.

`lines` is what can be replaced and by what, `stages` computes the heads it is replaced in, `swap` does it to a model,
and `unmet` says when it was never done.
"""

from edgewise.tracing.swapping.lines import Instead, Mask, Words
from edgewise.tracing.swapping.swap import Swapped, swap

__all__ = ["Instead", "Mask", "Swapped", "Words", "swap"]
