"""The properties of attention that are checked, one a file: what each says, why, and an example of it broken and right.

A property is a value. To add one, write its file and add it to `PROPERTIES`, where it stands in reports and docs.
"""

from edgewise.checks.properties.batch_leak import PROPERTY as BATCH_LEAK
from edgewise.checks.properties.future_leak import PROPERTY as FUTURE_LEAK
from edgewise.checks.properties.head_mapping import PROPERTY as HEAD_MAPPING
from edgewise.checks.properties.lost_visibility import PROPERTY as LOST_VISIBILITY
from edgewise.checks.properties.mask_meaning import PROPERTY as MASK_MEANING
from edgewise.checks.properties.normalisation import PROPERTY as NORMALISATION
from edgewise.checks.properties.packing_leak import PROPERTY as PACKING_LEAK
from edgewise.checks.properties.padding_leak import PROPERTY as PADDING_LEAK
from edgewise.checks.properties.path_mismatch import PROPERTY as PATH_MISMATCH
from edgewise.checks.properties.position import PROPERTY as POSITION
from edgewise.checks.properties.scale import PROPERTY as SCALE
from edgewise.checks.properties.wrong_pattern import PROPERTY as WRONG_PATTERN
from edgewise.checks.property import Example, Property

__all__ = ["PROPERTIES", "Example", "Property"]

PROPERTIES: tuple[Property, ...] = (
    FUTURE_LEAK,
    LOST_VISIBILITY,
    WRONG_PATTERN,
    PADDING_LEAK,
    BATCH_LEAK,
    PACKING_LEAK,
    MASK_MEANING,
    NORMALISATION,
    SCALE,
    HEAD_MAPPING,
    POSITION,
    PATH_MISMATCH,
)
