"""Positions: attention reads a set, so a token has to carry its place along."""

import torch
from torch import Tensor

from edgewise.attention import Learned, reference, rotary, sinusoidal
from edgewise.derivation.claim import Claim, Measured, claim
from edgewise.derivation.expected import near
from edgewise.derivation.worked import BAG, PLACES
from edgewise.errors import ShapeError
from edgewise.graphs import causal
from edgewise.ladder import Size, rung

__all__ = ["CLAIMS"]

SIZE = Size(vocabulary=26, block=8, width=32)


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _letters(word: str) -> Tensor:
    return torch.tensor([ord(letter) - ord("a") for letter in word])


@claim("position.set", expected={"largest_difference": near(0.0, 1e-6)}, kind="property")
def is_a_set() -> Measured:
    """Without positions the s of dogs and the s of gods blend the same four vectors into the same output."""
    table, query, key, value = _random(26, 32), *_random(3, 32, 16)
    outs = [
        reference(x @ query, x @ key, x @ value, causal()).out[3]
        for x in (table[_letters("dogs")], table[_letters("gods")])
    ]
    return {"largest_difference": (outs[0] - outs[1]).abs().max().item()}


@claim(
    "position.by-hand",
    expected={"dog": near([[1.1, 0.0], [2.3, 1.0]], 1e-6), "god": near([[2.1, 1.0], [1.3, 0.0]], 1e-6)},
    kind="close",
)
def by_hand() -> Measured:
    """With d = [1, 0], g = [2, 1] and places [0.1, 0] and [0.3, 0], the d of dog and the d of god are two vectors."""
    placed = {word: torch.tensor([BAG[one] for one in word]) + torch.tensor(PLACES[:3]) for word in ("dog", "god")}
    return {word: rows[[0, 2]].tolist() for word, rows in placed.items()}


@claim("position.shapes", expected={"shape": [4, 8, 32]}, kind="exact")
def shapes() -> Measured:
    """Tokens (4, 8, 32) plus positions (8, 32), the same for each sequence, is (4, 8, 32)."""
    return {"shape": list((_random(4, 8, 32) + Learned(8, 32)(8)).shape)}


@claim("position.add-keeps-dimension", expected={"add": 32, "concatenate": 64}, kind="exact")
def add_keeps_dimension() -> Measured:
    """Adding the position leaves 32 channels; laying it alongside would make 64."""
    token, position = _random(8, 32), Learned(8, 32)(8)
    return {"add": (token + position).shape[-1], "concatenate": torch.cat([token, position], dim=-1).shape[-1]}


@claim(
    "position.learned-limit",
    expected={"uncropped": "clear error", "names_the_block": True, "cropped": [1, 8, 26]},
    kind="property",
)
def learned_limit() -> Measured:
    """A learned table of 8 rows cannot place 9 tokens and says so; cropped to the last 8, as when writing, it can."""
    model, tokens = rung("positions").build(SIZE), torch.arange(9)[None]
    try:
        uncropped = f"no error: {list(model(tokens).shape)}"
    except ShapeError as refused:
        uncropped, message = "clear error", str(refused)
    else:
        message = ""
    cropped = list(model(tokens[:, -SIZE.block :]).shape)
    return {"uncropped": uncropped, "names_the_block": "8" in message, "message": message, "cropped": cropped}


@claim(
    "position.sinusoidal",
    expected={"parameters": 0, "learns": False, "longer_begins_the_same": True, "length": 5000},
    kind="property",
)
def sinusoids() -> Measured:
    """Sinusoids are a formula: nothing to learn, any length; a longer table goes on where a shorter one ends."""
    table, longer = sinusoidal(8, 32), sinusoidal(5000, 32)
    return {
        "parameters": int(isinstance(table, torch.nn.Parameter)) * table.numel(),
        "learns": table.requires_grad,
        "longer_begins_the_same": torch.equal(longer[:8], table),
        "length": len(longer),
    }


@claim(
    "position.rotary",
    expected={"largest_change": near(0.0, 1e-4), "moving_one_alone_changes": True},
    kind="property",
)
def rotary_is_relative() -> Measured:
    """Rotary positions turn queries and keys, so that a score depends on how far apart they stand, and only on that."""
    query, key = _random(2, 8, 16)
    at = torch.arange(8)
    scores = rotary(query, at) @ rotary(key, at).T
    moved = rotary(query, at + 100) @ rotary(key, at + 100).T
    one_alone = rotary(query, at + 100) @ rotary(key, at).T
    return {
        "largest_change": (moved - scores).abs().max().item(),
        "moving_one_alone_changes": bool((one_alone - scores).abs().max() > 0.1),
    }


CLAIMS: tuple[Claim, ...] = (
    is_a_set,
    by_hand,
    shapes,
    add_keeps_dimension,
    learned_limit,
    sinusoids,
    rotary_is_relative,
)
