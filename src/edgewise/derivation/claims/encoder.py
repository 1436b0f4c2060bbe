"""Encoder and decoder, one line apart; and two sequences, where one asks and the other is read."""

import torch
from torch import Tensor

from edgewise.attention import reference
from edgewise.derivation.claim import Claim, Measured, claim, corpus_claim
from edgewise.derivation.expected import above, below
from edgewise.derivation.lab import Lab
from edgewise.derivation.lesson import BLOCK, write, writing_loss
from edgewise.graphs import Graph, causal, full
from edgewise.ladder import Size, change, rung

__all__ = ["CLAIMS"]


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@claim("encoder.one-line", expected={"lines_changed": 1, "is_the_mask": True}, kind="exact")
def one_line() -> Measured:
    """An encoder is the decoder without the one line that sets the future to −∞."""
    step = change("scale", "encoder")
    mask = len(step.removed) == 1 and "masked_fill" in step.removed[0] and not step.added
    return {"lines_changed": step.count, "is_the_mask": mask, "removed": list(step.removed)}


@claim(
    "encoder.sees-all", expected={"encoder_sees": [8] * 8, "decoder_sees": [1, 2, 3, 4, 5, 6, 7, 8]}, kind="property"
)
def sees_all() -> Measured:
    """Without the mask each position depends on all eight, with it on itself and what came before."""
    return {"encoder_sees": _sees(full()), "decoder_sees": _sees(causal())}


def _sees(graph: Graph) -> list[int]:
    """On how many positions each output depends, by its gradient; causal ones must be the first so many."""
    weights = _random(3, 16, 16, seed=1)

    def out(x: Tensor) -> Tensor:
        query, key, value = (x @ weight for weight in weights)
        return reference(query, key, value, graph).out.sum(dim=1)

    depends = torch.autograd.functional.jacobian(out, _random(8, 16)).abs().sum(dim=-1) > 0
    return [int(row.sum()) if bool(row[: int(row.sum())].all()) else -1 for row in depends]


@corpus_claim(
    "encoder.cheating",
    expected={
        "loss_all_but_last": below(0.1),
        "loss_at_last": above(2.4),
        "loss_when_writing": above(2.8),
        "bigram": below(2.52),
    },
    kind="measured",
    seconds=3,
)
def cheating(lab: Lab) -> Measured:
    """Without the mask a decoder copies its answers from the right: hardly a loss, except where there is no right.

    That is at the last position, and everywhere once it writes: there a bigram does better, and the text is garbage.
    """
    cheat, tokenizer = lab.rung("encoder"), lab.shakespeare.tokenizer
    return {
        "loss_all_but_last": cheat.validation[:-1].tolist(),
        "loss_at_last": cheat.validation[-1].item(),
        "loss_when_writing": writing_loss(cheat.model, lab.shakespeare.corpus.validation),
        "bigram": lab.rung("bigram").validation.mean().item(),
        "writes": write("encoder", cheat.model, Size(tokenizer.size, block=BLOCK), tokenizer, "First Ci", 60),
    }


@corpus_claim(
    "encoder.cloze",
    expected={"hidden": below(2.6), "hidden_lowest": above(1.5), "left_in": below(0.1)},
    kind="measured",
    seconds=7,
)
def cloze(lab: Lab) -> Measured:
    """With the answer taken out of the input, reading both ways learns without cheating; left in, it is copied."""
    blank = lab.shakespeare.tokenizer.size

    def hide(tokens: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        # One place in four, another in each window, told apart by the tokens alone so that no state is needed.
        hidden = (torch.arange(BLOCK) + tokens.sum(dim=1, keepdim=True)) % 4 == 0
        return tokens.masked_fill(hidden, blank), tokens.masked_fill(~hidden, -100)

    def leave(tokens: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        return tokens, tokens

    def build() -> torch.nn.Module:
        return rung("encoder").build(Size(blank + 1))

    hidden = lab.trained("encoder, answers hidden", build, hide).validation
    left = lab.trained("encoder, answers left in", build, leave).validation
    return {"hidden": hidden.mean().item(), "hidden_lowest": hidden.min().item(), "left_in": left.mean().item()}


@claim("cross.shape", expected={"weights": [5, 7], "out": [5, 16]}, kind="exact")
def cross_shape() -> Measured:
    """Five queries that read seven tokens of another sequence have weights (5, 7) and five rows of output."""
    stages = reference(_random(5, 16), _random(7, 16), _random(7, 16, seed=1))
    return {"weights": list(stages.weights.shape), "out": list(stages.out.shape)}


@claim("cross.self-is-special-case", expected={"equal": True, "with_another": False}, kind="exact")
def self_is_special_case() -> Measured:
    """Cross-attention of a sequence with itself is self-attention, bit for bit."""
    size, tokens = Size(vocabulary=26), torch.arange(8)[None]
    alone, cross = rung("encoder").build(size), rung("cross").build(size)
    cross.load_state_dict(alone.state_dict())
    return {
        "equal": torch.equal(alone(tokens), cross(tokens, tokens)),
        "with_another": torch.equal(alone(tokens), cross(tokens, tokens + 1)),
    }


CLAIMS: tuple[Claim, ...] = (one_line, sees_all, cheating, cloze, cross_shape, self_is_special_case)
