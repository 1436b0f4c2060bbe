import torch
from torch import Tensor, nn

from edgewise.ladder import Size, rung
from edgewise.training.flat import Flat
from edgewise.training.optimisers import AdamW, Both, Muon, optimiser_for, orthogonal
from edgewise.training.recipe import Recipe

SIZE = Size(vocabulary=11, block=8, width=16, heads=2, layers=2)
MUON = Recipe(optimiser="muon")


def gradient_of(flat: Flat) -> Tensor:
    return torch.randn(flat.vector.shape, generator=torch.Generator().manual_seed(1))


def test_parameters_are_views_of_one_vector() -> None:
    model = rung("gpt").build(SIZE)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    flat = Flat(model)
    torch.testing.assert_close(flat.named(flat.vector), before, rtol=0, atol=0)
    flat.vector.zero_()
    assert all(not weight.any() for weight in model.parameters())


def test_hidden_matrices_are_those_between_embedding_and_logits() -> None:
    flat = Flat(rung("gpt").build(SIZE))
    assert [part.name for part in flat.hidden[:4]] == [
        "blocks.0.attention.qkv.weight",
        "blocks.0.attention.mix.weight",
        "blocks.0.feed.up.weight",
        "blocks.0.feed.down.weight",
    ]
    assert [part.name for part in flat.tables] == ["token.weight", "position.weight"]
    assert [part.name for part in Flat(rung("scale").build(SIZE)).tables][-1] == "predict.weight"


def test_an_orthogonal_matrix_has_the_directions_of_its_source_and_singular_values_near_one() -> None:
    stack = torch.randn(3, 16, 16)
    found = orthogonal(stack)
    assert found.dtype == stack.dtype
    values = torch.linalg.svdvals(found)
    assert values.max() < 1.35
    assert values.median() > 0.6
    left, _, right = torch.linalg.svd(stack)
    assert ((left @ right) * found).sum(dim=(1, 2)).min() > 0.7 * 16  # of 16 if it were exact


def test_zeros_stay_zeros_when_made_orthogonal() -> None:
    assert not orthogonal(torch.zeros(2, 4, 4)).any()


def test_muon_moves_every_square_by_the_orthogonal_part_of_its_gradient() -> None:
    model = rung("gpt").build(SIZE)
    flat, recipe = Flat(model), Recipe(optimiser="muon", weight_decay=0.0)
    before, gradient = flat.vector.clone(), gradient_of(flat)
    Muon(flat, flat.hidden, recipe).update(gradient, 0.5)
    moved = flat.named(flat.vector - before)["blocks.1.feed.down.weight"]  # (16, 64): four squares
    squares = flat.named(gradient)["blocks.1.feed.down.weight"].split(16, dim=1)
    wanted = torch.cat(list(orthogonal(torch.stack(squares))), dim=1) * -0.5 * recipe.matrix_rate
    # The momentum has another length than the gradient, which rounds otherwise.
    torch.testing.assert_close(moved, wanted, rtol=0.05, atol=0.02 * recipe.matrix_rate)


def test_weight_decay_leaves_single_rows_alone() -> None:
    model = nn.Sequential(nn.Embedding(11, 4), nn.LayerNorm(4), nn.Linear(4, 4), nn.Linear(4, 11))
    for optimiser in ("adamw", "muon"):
        flat = Flat(model)
        before = {name: view.clone() for name, view in flat.named(flat.vector).items()}
        optimiser_for(flat, Recipe(optimiser=optimiser, weight_decay=0.5)).update(torch.zeros_like(flat.vector), 1.0)
        for name, view in flat.named(flat.vector).items():
            torch.testing.assert_close(bool((view == before[name]).all()), view.dim() == 1)


def test_a_matrix_that_cannot_be_cut_into_squares_is_made_orthogonal_whole() -> None:
    model = nn.Sequential(nn.Embedding(11, 4), nn.Linear(4, 6), nn.Linear(6, 4))
    flat = Flat(model)
    before = flat.vector.clone()
    optimiser_for(flat, MUON).update(gradient_of(flat), 1.0)
    assert (flat.named(flat.vector)["1.weight"] != flat.named(before)["1.weight"]).all()


def test_a_model_without_hidden_matrices_is_left_to_adamw() -> None:
    assert isinstance(optimiser_for(Flat(rung("bigram").build(SIZE)), MUON), AdamW)
    assert isinstance(optimiser_for(Flat(rung("gpt").build(SIZE)), MUON), Both)


def test_the_state_is_the_memory_itself_and_names_all_of_it() -> None:
    flat = Flat(rung("gpt").build(SIZE))
    optimiser = optimiser_for(flat, MUON)
    state = optimiser.state_dict()
    assert sorted(state) == sorted(
        [f"adamw.{place}.{name}" for place in (0, 1) for name in ("first", "second", "count")] + ["muon.momentum"]
    )
    optimiser.update(gradient_of(flat), 1.0)
    assert all(tensor.any() for tensor in state.values())
