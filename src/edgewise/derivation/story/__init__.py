"""The story: the ladder told rung by rung, each with what changed and the numbers that show what it buys.

Every number is worked out when the story is told, most of them by the functions that the claims use. `SCENES` has one
function a rung, in the order of the telling; each takes the text that the story is about.
"""

from collections.abc import Callable

from edgewise.derivation.reading import Reading
from edgewise.derivation.story.averages import loop, matmul, softmax
from edgewise.derivation.story.beyond import attend, blocks, feedforward, gpt, heads, layernorm, residual
from edgewise.derivation.story.head import positions, scale, scores, values
from edgewise.derivation.story.scene import Scene, told
from edgewise.derivation.story.siblings import batchnorm, cross, encoder
from edgewise.derivation.story.start import bigram, split

__all__ = ["SCENES", "Scene", "told"]

SCENES: dict[str, Callable[[Reading], Scene]] = {
    scene.__name__: scene
    for scene in (
        *(bigram, split, loop, matmul, softmax, positions, scores, values, scale),
        *(encoder, cross),
        *(attend, heads, feedforward, residual, layernorm),
        *(batchnorm, blocks, gpt),
    )
}
