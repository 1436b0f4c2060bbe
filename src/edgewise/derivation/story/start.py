"""How the story starts: a table that looks at one character, and the room made in it."""

import math

from edgewise.derivation.claims.bigram import initial_loss
from edgewise.derivation.reading import Reading
from edgewise.derivation.story.scene import Scene
from edgewise.ladder import Size, rung

__all__ = ["bigram", "split"]


def bigram(reading: Reading) -> Scene:
    """Tell of the table that gives hou, you and thou the same answer."""
    tokenizer, pairs = reading.tokenizer, reading.pairs
    last = "u" if "u" in tokenizer.vocabulary else tokenizer.decode([int(pairs.sum(axis=1).argmax())])
    after = pairs[tokenizer.vocabulary.index(last)]
    top = (-after).argsort()[:4]
    best = "   ".join(f"{tokenizer.decode([int(one)])!r} {after[one] / after.sum():.0%}" for one in top)
    words = [f"  after {start + last:<5} come   {best}" for start in ("ho", "yo", "tho")]
    seen, held_out = reading.pair_losses
    guess = math.log(tokenizer.size)
    losses = (
        f"  Guessing costs ln {tokenizer.size} = {guess:.2f} nats a character; the best table of pairs,\n"
        f"  counted, {seen:.2f} on the text that it has seen and {held_out:.2f} on the rest."
    )
    return Scene(
        "bigram",
        "\n".join([*words, "", losses]),
        "A language model in one line, and a loss to beat.",
        "hou, you and thou get the same answer: what came before the last character cannot be used.",
    )


def split(reading: Reading) -> Scene:
    """Tell of two tables in the place of one."""
    size = Size(reading.tokenizer.size)
    before, after = (sum(one.numel() for one in rung(name).build(size).parameters()) for name in ("bigram", "split"))
    starts = [initial_loss(name, vocabulary=size.vocabulary) for name in ("bigram", "split")]
    return Scene(
        "split",
        f"  parameters  {before:,} → {after:,}  (width {size.width})\n"
        f"  first loss  {starts[0]:.2f} → {starts[1]:.2f}, where guessing costs {math.log(size.vocabulary):.2f}",
        "Room between what a token is and what it predicts: there the context will go.",
        "Nothing stands there yet, and a trained loss is no better than the table's.",
    )
