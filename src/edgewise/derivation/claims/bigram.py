"""Where things stand: the bigram, which sees one character and no context."""

import math

import numpy as np
import torch

from edgewise.derivation.claim import Claim, Measured, claim, corpus_claim
from edgewise.derivation.expected import above, near
from edgewise.derivation.lab import Lab
from edgewise.ladder import Size, rung
from edgewise.training import Characters, windows

__all__ = ["CLAIMS", "initial_loss"]

LETTERS = Characters("abcdefghijklmnopqrstuvwxyz")


def initial_loss(name: str, seed: int = 0, vocabulary: int = 65) -> float:
    """Return the loss of an untrained rung where each character is as likely as any other to come next."""
    tokens, following = torch.cartesian_prod(torch.arange(vocabulary), torch.arange(vocabulary)).T
    logits = rung(name).build(Size(vocabulary), seed=seed)(tokens[:, None])[:, 0]
    return torch.nn.functional.cross_entropy(logits, following).item()


@corpus_claim("vocab.size", expected={"characters": 65, "index_of_u": 59, "length": 1115394}, kind="exact")
def size(lab: Lab) -> Measured:
    """The text of tinyshakespeare has 1,115,394 characters, 65 different ones; in sorted order u is number 59."""
    return {
        "characters": lab.shakespeare.tokenizer.size,
        "index_of_u": int(lab.shakespeare.tokenizer.encode("u")[0]),
        "length": len(lab.shakespeare.text),
    }


@claim("bigram.same-row", expected={"equal": True, "same_top_three": True}, kind="exact")
def same_row() -> Measured:
    """After hou, you and thou a bigram gives the same last row of logits, bit for bit, and so the same top three."""
    model = rung("bigram").build(Size(LETTERS.size))
    rows = [model(torch.from_numpy(LETTERS.encode(word))[None])[0, -1] for word in ("hou", "you", "thou")]
    top = [LETTERS.decode(row.topk(3).indices.tolist()) for row in rows]
    return {
        "equal": all(torch.equal(row, rows[0]) for row in rows),
        "same_top_three": len(set(top)) == 1,
        "top_three": top,
    }


@claim(
    "bigram.initial-loss",
    expected={"loss": near(math.log(65) + 0.5, 0.05), "lowest": above(4.35), "over_guessing": near(1.65, 0.1)},
    kind="measured",
)
def starts_too_high() -> Measured:
    """A bigram with standard-normal rows starts at about ln 65 + 1/2 = 4.67: 1.65 times the perplexity of guessing."""
    found = [initial_loss("bigram", seed) for seed in range(20)]
    mean = sum(found) / len(found)
    return {"loss": mean, "lowest": min(found), "over_guessing": math.exp(mean) / 65}


@corpus_claim(
    "bigram.trained-loss",
    expected={
        "validation": near(2.49, 0.03),
        "training": near(2.46, 0.03),
        "counted_training": near(2.45, 0.01),
        "counted_validation": near(2.485, 0.01),
    },
    kind="measured",
    seconds=2,
)
def trained_loss(lab: Lab) -> Measured:
    """A trained bigram stops near 2.49: counting pairs gives 2.45 on what was seen and 2.48 on what was not."""
    trained, counted = lab.rung("bigram"), lab.shakespeare.pair_losses
    return {
        "validation": trained.validation.mean().item(),
        "training": trained.training.mean().item(),
        "counted_training": counted[0],
        "counted_validation": counted[1],
    }


@claim("chunk.eight-questions", expected={"questions": 8, "sees": "Let'", "target": "s"}, kind="exact")
def eight_questions() -> Measured:
    """A chunk of 8 and what follows it asks 8 questions: in "Let's he" position 3 sees Let' and must say s."""
    text = "Let's hea"
    tokenizer = Characters.of([text])
    chunk, following = windows(tokenizer.encode(text), np.array([0]), block=8)
    sees = [tokenizer.decode(chunk[0, : position + 1].tolist()) for position in range(chunk.shape[1])]
    return {"questions": len(sees), "sees": sees[3], "target": tokenizer.decode([int(following[0, 3])])}


CLAIMS: tuple[Claim, ...] = (size, same_row, starts_too_high, trained_loss, eight_questions)
