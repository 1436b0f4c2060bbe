import torch

from edgewise.checks.calls.given import Given


def _given():
    return Given(
        torch.randn(3, 6, 4),
        keep=torch.ones(3, 6, dtype=torch.bool),
        positions=torch.arange(6).expand(3, -1),
        memory=torch.randn(3, 9, 4),
        allowed=torch.ones(6, 6, dtype=torch.bool),
    )


def test_a_part_of_the_tokens_takes_with_it_what_is_said_of_them():
    part = _given().slice(2, 5)
    assert part.tokens.shape == (3, 3, 4)
    assert part.keep is not None
    assert part.keep.shape == (3, 3)
    assert part.positions is not None
    assert part.positions[0].tolist() == [2, 3, 4]
    assert part.allowed is not None
    assert part.allowed.shape == (3, 3)
    assert part.memory is not None
    assert part.memory.shape == (3, 9, 4)


def test_one_row_is_a_batch_of_one_under_the_same_square_mask():
    row = _given().row(1)
    assert row.batch == 1
    assert row.allowed is not None
    assert row.allowed.shape == (6, 6)


def test_a_function_is_cut_by_its_queries():
    given = Given(torch.randn(1, 2, 5, 4), key=torch.randn(1, 2, 7, 4), value=torch.randn(1, 2, 7, 4))
    assert given.length == 5
    cut = given.cut(2)
    assert cut.tokens.shape == (1, 2, 2, 4)
    assert cut.key is not None
    assert cut.key.shape == (1, 2, 7, 4)


def test_a_strided_copy_has_equal_values_and_shares_no_memory():
    given = _given()
    copy = given.copied(contiguous=False)
    torch.testing.assert_close(copy.tokens, given.tokens, rtol=0, atol=0)
    assert not copy.tokens.is_contiguous()
    copy.tokens.zero_()
    assert given.tokens.abs().sum() > 0


def test_gradients_flow_through_a_copy():
    tokens = torch.randn(1, 2, 3, requires_grad=True)
    Given(tokens).copied(contiguous=False).tokens.sum().backward()
    assert tokens.grad is not None


def test_ids_and_masks_keep_their_dtype():
    given = Given(
        torch.zeros(1, 2, dtype=torch.long), keep=torch.ones(1, 2, dtype=torch.bool), memory=torch.ones(1, 2, 3)
    )
    moved = given.to(torch.float64)
    assert moved.tokens.dtype == torch.long
    assert moved.memory is not None
    assert moved.memory.dtype == torch.float64
