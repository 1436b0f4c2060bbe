"""Whose mask an argument is: that of what is read, or of something that is handed over beside it."""

import re
from collections.abc import Iterable

__all__ = ["of_another"]

_OF_WHAT_IS_READ = re.compile(r"(decoder_)?(attention|input|src|x|tokens?|kv|key|seq|sequence|padding|pad)_mask")
"""Masks of what is read whatever else is taken: beside token_type_ids, say."""
_MASK = re.compile(r"(\w+?)((_attention|_attn|_key|_padding|_pad)*_mask)")


def of_another(mask: str, main: str, others: Iterable[str]) -> bool:
    """Whether a mask is named after another argument than the one that is read.

    Args:
        mask: the name of the mask.
        main: the name of what is read.
        others: the names of everything else that is taken.

    Example:
        >>> of_another("input_features_mask", "input_ids", ["input_features", "attention_mask"])
        True
        >>> of_another("input_features_mask", "input_features", ["attention_mask"])
        False
        >>> of_another("aspect_ratio_mask", "input_ids", ["pixel_values", "aspect_ratio_ids"])
        True
    """
    found = _MASK.fullmatch(mask)
    if found is None or _OF_WHAT_IS_READ.fullmatch(mask) or _about(main, found[1]):
        return False
    return any(_about(one, found[1]) for one in others if not _MASK.fullmatch(one))


def _about(name: str, stem: str) -> bool:
    """Whether the name of an argument is the stem, or begins with its words."""
    return name == stem or name.startswith(f"{stem}_")
