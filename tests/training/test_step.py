import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from edgewise.ladder import RUNGS, Size, rung
from edgewise.training.recipe import Recipe
from edgewise.training.step import Step

SIZE = Size(vocabulary=11, block=8, width=16, heads=2, layers=2)
# The step reads (batch, query) tokens; what reads two texts is not a language model of one.
NAMES = [one.name for one in RUNGS if one.name != "cross"]
BOTH = pytest.mark.parametrize("precision", ["float32", "bfloat16"])


def batch(seed: int = 0, size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(SIZE.vocabulary, (size, SIZE.block + 1), generator=generator)
    return tokens[:, :-1], tokens[:, 1:]


def plain(model: nn.Module, tokens: Tensor, targets: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss and its gradients, by the plainest code."""
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    named = dict(model.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
    return loss.detach(), dict(zip(named, found, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_in_float32_the_step_sees_the_gradient_of_plain_autograd(name: str) -> None:
    model = rung(name).build(SIZE)
    loss, wanted = plain(model, *batch())
    step = Step(model, Recipe(batch=4))
    found, gradient = step._gradient(step.flat.vector, *batch())
    torch.testing.assert_close(found, loss)
    for part, each in step.flat.named(gradient).items():
        torch.testing.assert_close(each, wanted[part])


@pytest.mark.parametrize("name", NAMES)
def test_in_bfloat16_the_gradient_is_within_a_few_roundings_of_it(name: str) -> None:
    model = rung(name).build(SIZE)
    loss, wanted = plain(model, *batch())
    step = Step(model, Recipe(batch=4), precision="bfloat16")
    found, gradient = step._gradient(step.flat.vector, *batch())
    torch.testing.assert_close(found, loss, rtol=0.01, atol=0)
    whole = torch.cat([wanted[part.name].reshape(-1) for part in step.flat.parts])
    error = torch.linalg.vector_norm(gradient - whole) / torch.linalg.vector_norm(whole)
    assert error < 0.03


@BOTH
def test_an_update_of_adamw_is_that_of_torch(precision: str) -> None:
    recipe = Recipe(optimiser="adamw", learning_rate=0.01, clip=0.5, batch=4)
    model, other = rung("gpt").build(SIZE), rung("gpt").build(SIZE)
    matrices = [weight for weight in other.parameters() if weight.dim() > 1]
    rows = [weight for weight in other.parameters() if weight.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rows, "weight_decay": 0.0}]
    torchs = torch.optim.AdamW(groups, lr=0.005, betas=recipe.betas)
    step = Step(model, recipe, precision=precision)
    for seed in range(3):
        step([batch(seed)], 0.5)
        torchs.zero_grad()
        F.cross_entropy(other(batch(seed)[0]).flatten(0, 1), batch(seed)[1].flatten()).backward()
        norm = nn.utils.clip_grad_norm_(other.parameters(), 0.5)
        torch.testing.assert_close(step.gradient_norm, norm, rtol=0.03 if precision == "bfloat16" else 1e-5, atol=0)
        torchs.step()
    # AdamW's first steps have the size of the rate wherever a gradient's sign is sure: in bfloat16 not all are.
    atol = 1e-5 if precision == "float32" else 0.02
    for (name, one), two in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=atol, msg=lambda text, name=name: f"{name}: {text}")


def test_accumulated_batches_are_one_large_batch() -> None:
    model, other = rung("gpt").build(SIZE), rung("gpt").build(SIZE)
    parts, whole = Step(model, Recipe(optimiser="adamw")), Step(other, Recipe(optimiser="adamw"))
    tokens, targets = batch(size=8)
    some = parts([(tokens[:4], targets[:4]), (tokens[4:], targets[4:])], 1.0)
    torch.testing.assert_close(some, whole([(tokens, targets)], 1.0))
    torch.testing.assert_close(parts.gradient_norm, whole.gradient_norm)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
@BOTH
def test_a_step_goes_on_bit_for_bit_from_its_state(optimiser: str, precision: str) -> None:
    recipe = Recipe(optimiser=optimiser)
    model = rung("gpt").build(SIZE)
    step = Step(model, recipe, precision=precision)
    for seed in range(3):
        step([batch(seed)], 1.0)
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    state = {name: tensor.clone() for name, tensor in step.state_dict().items()}
    again = rung("gpt").build(SIZE, seed=5)
    resumed = Step(again, recipe, precision=precision)
    again.load_state_dict(weights)
    resumed.load_state_dict(state)
    for seed in range(3, 5):
        torch.testing.assert_close(step([batch(seed)], 1.0), resumed([batch(seed)], 1.0), rtol=0, atol=0)
    torch.testing.assert_close(again.state_dict(), model.state_dict(), rtol=0, atol=0)


def test_tied_weights_stay_tied() -> None:
    model = nn.Sequential(nn.Embedding(11, 16), nn.Linear(16, 11, bias=False))
    model[1].weight = model[0].weight
    step = Step(model, Recipe())
    step([batch()], 1.0)
    assert model[1].weight is model[0].weight
    assert step.flat.vector.numel() == 11 * 16


def test_what_is_not_trained_stays() -> None:
    model = rung("gpt").build(SIZE)
    model.position.weight.requires_grad_(False)
    before = model.position.weight.clone()
    Step(model, Recipe())([batch()], 1.0)
    torch.testing.assert_close(model.position.weight, before, rtol=0, atol=0)


def test_evaluation_is_in_float32_and_without_dropout() -> None:
    model = rung("gpt").build(Size(vocabulary=11, block=8, width=16, heads=2, dropout=0.5))
    step = Step(model, Recipe(), precision="bfloat16")
    step([batch()], 1.0)
    loss = step.loss(*batch())
    torch.testing.assert_close(loss, plain(model.eval(), *batch())[0])


def test_training_learns_a_text_by_heart() -> None:
    model = rung("gpt").build(SIZE)
    step = Step(model, Recipe(), precision="bfloat16")
    losses = [step([batch()], 1.0).item() for _ in range(80)]
    assert losses[-1] < 0.3 < losses[0]


@BOTH
def test_what_a_model_notes_while_it_trains_is_kept_in_the_model(precision: str) -> None:
    model = nn.Sequential(nn.Embedding(11, 8), nn.Flatten(0, 1), nn.BatchNorm1d(8), nn.Linear(8, 11))
    model.append(nn.Unflatten(0, (4, 8)))
    Step(model, Recipe(), precision=precision)([batch()], 1.0)
    assert model[2].num_batches_tracked.item() == 1
    assert model[2].running_mean.dtype == torch.float32
    assert model[2].running_mean.any()


COMPILED = """
import torch
from edgewise.ladder import Size, rung
from edgewise.training.recipe import Recipe
from edgewise.training.step import Step
tokens = torch.randint(11, (4, 9), generator=torch.Generator().manual_seed(0))
# Models of the same number of weights, that must not be taken for each other.
for precision, heads in (("float32", 2), ("float32", 4), ("bfloat16", 2)):
    pair, size = [], Size(vocabulary=11, block=8, width=16, heads=heads, layers=1)
    for compiled in (False, True):
        step = Step(rung("gpt").build(size), Recipe(), precision=precision, compiled=compiled)
        pair.append(step._gradient(step.flat.vector, tokens[:, :-1], tokens[:, 1:]))
    for one, two in zip(*pair):
        error = torch.linalg.vector_norm(one - two) / torch.linalg.vector_norm(one)
        assert error < (1e-5 if precision == "float32" else 0.02), (precision, heads, error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="compiling needs a C++ compiler")
def test_compiled_and_not_compiled_steps_see_the_same_gradient() -> None:
    # In a process of its own: the shape checks of the tests are nothing for a compiler.
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}
    )
    assert done.returncode == 0, done.stderr
