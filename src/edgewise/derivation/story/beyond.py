"""From the head to the GPT: one call, several heads, work on what was gathered, and what makes it train deep."""

from typing import Any

import torch
import torch.nn.functional as F

from edgewise.attention import attend as attention
from edgewise.attention import reference, route_of
from edgewise.derivation.claims.value import worked_head
from edgewise.derivation.reading import Reading
from edgewise.derivation.story.layout import row
from edgewise.derivation.story.scene import Scene
from edgewise.derivation.worked import KEY, ONE_HOT, QUERY, VALUE, VECTORS
from edgewise.graphs import causal
from edgewise.ladder import Size, rung

__all__ = ["attend", "blocks", "feedforward", "gpt", "heads", "layernorm", "residual"]

WORDS = torch.arange(8)[None]


def _size(reading: Reading, layers: int = 1) -> Size:
    return Size(reading.tokenizer.size, block=8, width=32, heads=4, layers=layers)


def _parameters(name: str, size: Size) -> int:
    return sum(one.numel() for one in rung(name).build(size).parameters())


def attend(reading: Reading) -> Scene:
    """Tell of the one call."""
    del reading
    query, key, value = (torch.tensor(weight).T for weight in (QUERY, KEY, VALUE))
    out = attention(query, key, value, causal(), scale=1.0)
    route = route_of(query, key, value, causal(), scale=1.0)
    apart = (out - worked_head(ONE_HOT).out).abs().max().item()
    return Scene(
        "attend",
        f"  the head above by attend(query, key, value, causal(), scale=1): u {row(out[2])}\n"
        f"  largest difference from the lines written out {apart:.0e}; it went by {route.name}",
        "Four lines have a name, and the one who calls it need not know which kernel runs.",
        "One head looks for one thing at a time.",
    )


def heads(reading: Reading) -> Scene:
    """Tell of the width dealt out."""
    size = _size(reading)
    model: Any = rung("heads").build(size)
    head = model.attention
    with torch.no_grad():
        x = model.token(WORDS % size.vocabulary) + model.position(8)
        query, key = head.deal(head.query(x)), head.deal(head.key(x))
        weights = reference(query, key, key, causal()).weights[0, :, 3, :4]
    lines = [
        f"  {size.heads} heads of width {size.width // size.heads}; position 3 before any training reads 0 … 3 by",
        *(f"    head {number}  {row(one)}" for number, one in enumerate(weights)),
        f"  parameters  {_parameters('attend', size):,} → {_parameters('heads', size):,}: the last projection is new",
    ]
    return Scene(
        "heads",
        "\n".join(lines),
        "Several questions at once, at the cost of one.",
        "What they bring is blended and read out; nothing is made of it.",
    )


def feedforward(reading: Reading) -> Scene:
    """Tell of the work of each position alone."""
    size = _size(reading)
    model: Any = rung("feedforward").build(size)
    x = torch.randn(8, size.width, generator=torch.Generator().manual_seed(0))
    other = x.clone()
    other[5] += 1
    moved = (model.feed(x) != model.feed(other)).any(dim=1)
    rows = ", ".join(map(str, moved.nonzero()[:, 0].tolist()))
    return Scene(
        "feedforward",
        f"  change row 5 of x: of feed(x) row {rows} moves\n"
        f"  parameters  {_parameters('heads', size):,} → {_parameters('feedforward', size):,}",
        "Communication, then computation: what was gathered is worked on, with a bend in it.",
        "x is replaced at each part: what a position was is lost on the way.",
    )


def residual(reading: Reading) -> Scene:
    """Tell of the gradient that reaches the table."""
    size = _size(reading)
    norms: list[float] = []
    for name in ("feedforward", "residual"):
        model: Any = rung(name).build(size)
        logits = model(WORDS % size.vocabulary)
        F.cross_entropy(logits[0], (WORDS[0] + 1) % size.vocabulary).backward()
        norms.append(model.token.weight.grad.norm().item())
    return Scene(
        "residual",
        f"  gradient that reaches the token table before any training: {norms[0]:.3f} → {norms[1]:.3f}",
        f"x is kept and added to, and the table hears {norms[1] / norms[0]:.0f} times as much of the loss.",
        "The sum grows with each part, and each part sees another scale.",
    )


def layernorm(reading: Reading) -> Scene:
    """Tell of one row brought to mean 0 and variance 1."""
    del reading
    x = torch.tensor([[*VECTORS[0], *VECTORS[1]], [20.0, 70.0, 60.0, 40.0]])
    normed = F.layer_norm(x, (4,))
    lines = [f"  {row(before):<18} → {row(after)}" for before, after in zip(x, normed, strict=True)]
    return Scene(
        "layernorm",
        "\n".join([*lines, "  ten times as large, the same to the part that reads it; no other row is asked"]),
        "Each part reads x at one scale, along the row, so that no sequence hears of its companions.",
        "One round of looking and thinking is not many.",
    )


def blocks(reading: Reading) -> Scene:
    """Tell of depth."""
    counts = [_parameters("blocks", _size(reading, layers)) for layers in (1, 2, 3)]
    return Scene(
        "blocks",
        "  parameters with 1, 2, 3 blocks  " + "  ".join(f"{count:,}" for count in counts),
        "The second block looks for what the first has put together.",
        "It is not yet built to train fast, nor to write one token without doing all of them again.",
    )


def gpt(reading: Reading) -> Scene:
    """Tell of the model made ready."""
    size = _size(reading, layers=3)
    model: Any = rung("gpt").build(size).eval()
    tokens = WORDS % size.vocabulary
    cache = model.new_cache()
    with torch.no_grad():
        whole = model(tokens)
        steps = torch.cat([model(tokens[:, at : at + 1], cache) for at in range(8)], dim=1)
    return Scene(
        "gpt",
        f"  parameters  {_parameters('blocks', size):,} → {_parameters('gpt', size):,}: one table reads and predicts, "
        "no biases\n"
        f"  token by token with a cache, or all at once: apart by {(whole - steps).abs().max().item():.0e}",
        "The model that GPT-2 is, and nanoGPT trains; every line of it stands on one above.",
        "",
    )
