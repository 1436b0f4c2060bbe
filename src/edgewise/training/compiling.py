"""What the compiler makes of a step: loss and gradient as one graph, and some operations in a form that it does well.

On a CPU the compiler's own forms of these cost a tenth of a step of the small GPT: erf is computed to 24 bits for a
result that is kept in 8, and an embedding's gradient is added up one number at a time.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor
from torch.func import grad_and_value

__all__ = ["compiled_gradient"]

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
Gradient = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
# Where the fits of GELU end: beyond, the function is 0 or x to the precision of bfloat16.
EDGE = 4.5


def compiled_gradient(loss_at: Loss) -> Gradient:
    """Return a function that returns the loss and its gradient with respect to the first argument."""

    def gradient(vector: Tensor, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        # torch.func sees forward and backward together, so that the compiler fuses across the two.
        found, loss = grad_and_value(loss_at)(vector, tokens, targets)
        return loss, found

    # The model stays as it is between two calls, so its hundred parts need not be looked at before each. What is
    # compiled is kept by code object: with one of its own, another model of the same size is not taken for this one.
    gradient.__code__ = gradient.__code__.replace()
    options: dict[str, Any] = {"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe}
    return torch.compile(gradient, fullgraph=True, dynamic=False, backend=_backend, options=options)


def _backend(graph: Any, inputs: Sequence[Any]) -> Any:
    """Compile as torch does, on a CPU with our forms of some operations."""
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.decomposition import select_decomp_table

    if any(isinstance(one, Tensor) and one.device.type != "cpu" for one in inputs):
        return compile_fx(graph, inputs)
    # The graph is called from C++, without a Python call for each kernel; a product and a sum may be one instruction.
    patches = {"cpp_wrapper": True, "cpp.enable_floating_point_contract_flag": "fast"}
    forms = dict(select_decomp_table())
    aten = torch.ops.aten
    for operation, ours in (
        (aten.gelu.default, _gelu),
        (aten.gelu_backward.default, _gelu_backward),
        (aten.embedding_dense_backward.default, _embedding_backward),
        (aten._softmax.default, _softmax),
    ):
        forms[operation] = _either(ours, forms.get(operation))
    return compile_fx(graph, inputs, config_patches=patches, decompositions=forms)


def _either(ours: Callable[..., Any], theirs: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return our form where it serves, and elsewhere what the compiler would do without it."""

    def form(*arguments: Any, **more: Any) -> Any:
        found = ours(*arguments, **more)
        return theirs(*arguments, **more) if found is NotImplemented and theirs is not None else found

    return form


def _gelu(x: Tensor, approximate: str = "none") -> Any:
    if x.dtype != torch.bfloat16 or approximate != "none":
        return NotImplemented
    wide = x.float()
    return (wide * _half_plus_odd(wide, _CUMULATIVE)).to(x.dtype)


def _gelu_backward(gradient: Tensor, x: Tensor, approximate: str = "none") -> Any:
    if x.dtype != torch.bfloat16 or approximate != "none":
        return NotImplemented
    return (gradient.float() * _half_plus_odd(x.float(), _SLOPE)).to(x.dtype)


def _embedding_backward(gradient: Tensor, tokens: Tensor, rows: int, padding: int, scale: bool) -> Any:
    # As a product with one-hot rows. For a large vocabulary those would be larger than all else.
    if padding >= 0 or scale or rows > 1024:
        return NotImplemented
    hot = (tokens.reshape(-1, 1) == torch.arange(rows, device=tokens.device)).to(gradient.dtype)
    return hot.t() @ gradient.reshape(-1, gradient.shape[-1])


def _softmax(x: Tensor, dim: int, widened: bool) -> Any:
    # One division a row where the compiler's own form has one a cell.
    if x.dtype != torch.bfloat16 or widened:
        return NotImplemented
    wide = x.float()
    powers = (wide - wide.amax(dim, keepdim=True)).exp()
    return (powers * powers.sum(dim, keepdim=True).reciprocal()).to(x.dtype)


def _half_plus_odd(x: Tensor, coefficients: list[float]) -> Tensor:
    """Return ½ + x · p(x²), x clamped to ±EDGE: nothing but products and sums."""
    x = x.clamp(-EDGE, EDGE)
    place = x * x * (2 / EDGE**2) - 1
    total = torch.full_like(place, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * place + coefficient
    return 0.5 + x * total


def _fitted(function: Callable[[float], float], degree: int = 9) -> list[float]:
    """Return p for a function that is ½ plus an odd one, by least squares over |x| ≤ EDGE, least power first."""
    place = np.cos(np.pi * (np.arange(2000) + 0.5) / 2000)  # of x², from −1 to 1, dense at the ends
    place[0] = 1.0
    x = EDGE * np.sqrt((place + 1) / 2)
    wanted = np.array([function(each) for each in x]) - 0.5
    # At the edge 0 and 1 are wanted exactly: what is left there would grow with x beyond it.
    wanted[0], weight = 0.5, np.ones_like(x)
    weight[0] = 1e6
    powers = chebyshev.chebvander(place, degree) * x[:, None]
    found = np.linalg.lstsq(powers * weight[:, None], wanted * weight, rcond=None)[0]
    return [float(coefficient) for coefficient in chebyshev.cheb2poly(found)]


def _cumulative(x: float) -> float:
    """Return the share of a normal distribution below x; GELU is x times this."""
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def _slope(x: float) -> float:
    """Return the derivative of GELU."""
    return _cumulative(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


_CUMULATIVE, _SLOPE = _fitted(_cumulative), _fitted(_slope)
