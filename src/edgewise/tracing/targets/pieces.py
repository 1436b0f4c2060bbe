"""The text of each token, with the spaces that its tokenizer hides."""

from collections.abc import Sequence
from functools import cache
from typing import Any

__all__ = ["pieces"]


def pieces(tokenizer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """The text of each token; bytes that are no whole character are shown as �.

    Args:
        tokenizer: of transformers, or anything with a `decode`.
        ids: tokens.
    """
    named = getattr(tokenizer, "convert_ids_to_tokens", None)
    if named is None:
        return tuple(str(tokenizer.decode([one])) for one in ids)
    names = [str(one) for one in named(list(ids))]
    special: set[str] = set(getattr(tokenizer, "all_special_tokens", ()))
    as_bytes = any("Ġ" in one for one in names) or _knows_bytes(tokenizer)
    return tuple(one if one in special else _bytes(one) if as_bytes else one.replace("▁", " ") for one in names)


def _knows_bytes(tokenizer: Any) -> bool:
    """Whether it spells bytes as letters, as GPT-2 does."""
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    return "ByteLevel" in repr(decoder)


def _bytes(name: str) -> str:
    spelled = _spelling()
    if any(letter not in spelled for letter in name):
        return name
    return bytes(spelled[letter] for letter in name).decode("utf-8", errors="replace")


@cache
def _spelling() -> dict[str, int]:
    """The byte that each letter stands for: itself where it can be printed, else letters from 256 on.

    Source: Radford et al., GPT-2's `encoder.py`, `bytes_to_unicode`.
    """
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + number): byte for number, byte in enumerate(hidden)}
