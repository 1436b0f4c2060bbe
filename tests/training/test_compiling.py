import pytest
import torch
import torch.nn.functional as F

from edgewise.training import compiling


@pytest.fixture
def wide() -> torch.Tensor:
    """All bfloat16 numbers from −12 to 12 or so that matter, and both ends."""
    return torch.cat([torch.linspace(-12, 12, 4001), torch.tensor([-100.0, -0.0, 0.0, 1e4])]).bfloat16()


def test_the_fitted_gelu_is_gelu_to_the_precision_of_bfloat16(wide: torch.Tensor) -> None:
    torch.testing.assert_close(compiling._gelu(wide), F.gelu(wide.float()).bfloat16(), rtol=0.008, atol=6e-5)


def test_its_slope_is_that_of_gelu(wide: torch.Tensor) -> None:
    exact = wide.float().requires_grad_()
    (wanted,) = torch.autograd.grad(F.gelu(exact).sum(), exact)
    found = compiling._gelu_backward(torch.ones_like(wide), wide)
    torch.testing.assert_close(found.float(), wanted, rtol=0.008, atol=5e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_precisions_keep_the_exact_gelu(dtype: torch.dtype) -> None:
    x = torch.ones(3, dtype=dtype)
    assert compiling._gelu(x) is NotImplemented
    assert compiling._gelu_backward(x, x) is NotImplemented


def test_the_tanh_form_of_gelu_is_left_to_the_compiler() -> None:
    x = torch.ones(3, dtype=torch.bfloat16)
    assert compiling._gelu(x, "tanh") is NotImplemented


def test_the_gradient_of_an_embedding_is_a_product_with_one_hot_rows() -> None:
    tokens, gradient = torch.tensor([[0, 2, 2], [1, 0, 2]]), torch.randn(2, 3, 5)
    wanted = torch.ops.aten.embedding_dense_backward(gradient, tokens, 4, -1, False)
    torch.testing.assert_close(compiling._embedding_backward(gradient, tokens, 4, -1, False), wanted)


def test_a_large_vocabulary_is_left_to_the_compiler() -> None:
    tokens, gradient = torch.tensor([0]), torch.randn(1, 2)
    assert compiling._embedding_backward(gradient, tokens, 5000, -1, False) is NotImplemented


def test_the_softmax_is_softmax_and_leaves_other_precisions_alone() -> None:
    x = torch.randn(3, 7).bfloat16()
    torch.testing.assert_close(compiling._softmax(x, -1, False), torch.softmax(x, -1))
    assert compiling._softmax(x.float(), -1, False) is NotImplemented
    assert compiling._softmax(x, -1, True) is NotImplemented
