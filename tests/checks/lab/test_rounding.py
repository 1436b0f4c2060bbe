import math
from dataclasses import replace

import pytest
import torch
from tests.checks.layers import Layer, filled, lab_of
from torch import nn
from torch.testing import assert_close

from edgewise.checks.lab.rounding import LEAST, difference, roundings

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def labs():
    from edgewise.tracing.tiny import tiny

    return {name: lab_of(tiny(name).model) for name in ("gpt2", "llama", "bert", "t5")}


@pytest.mark.parametrize("dtype", [None, "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5"])
def test_a_row_alone_and_among_four_differs_by_rounding_alone(labs, name, dtype):
    lab = labs[name]
    route = replace(lab.plain, dtype=dtype, batch=4)
    given = lab.given(route)
    for row in range(4):
        alone, among = lab.out(given.row(row), route), lab.out(given, route)[row : row + 1]
        assert lab.close(alone, among, route) is None


@pytest.mark.parametrize("dtype", [None, "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "t5"])
def test_another_token_is_no_rounding(labs, name, dtype):
    lab = labs[name]
    route = replace(lab.plain, dtype=dtype)
    given = lab.given(route)
    tokens = given.tokens.clone()
    tokens[:, 2] = lab.given(route, seed=1).tokens[:, 2]
    other = lab.out(given.replace(tokens=tokens), route)
    found = lab.close(lab.out(given, route), other, route)
    assert found is not None
    assert found > 0


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_backends_differ_by_rounding_alone(labs, backend):
    lab = labs["llama"]
    route = replace(lab.plain, backend=backend)
    given = lab.given(route)
    assert lab.close(lab.out(given, route), lab.out(given, lab.plain), route) is None


def test_a_difference_of_a_millionth_in_float64_is_none_of_rounding():
    lab = lab_of(Layer(filled(-math.inf)).double())
    out = lab.out(lab.given(lab.plain), lab.plain)
    assert lab.close(out, out + 1e-15, lab.plain) is None
    assert lab.close(out, out + 1e-9, lab.plain) == pytest.approx(1e-9, rel=1e-3)


def test_a_side_without_a_number_is_infinitely_far():
    one = torch.ones(1, 2, 3)
    other = one.clone()
    other[0, 0, 0] = math.nan
    assert difference(one, other, torch.float32, 8) == math.inf
    assert difference(other, other, torch.float32, 8) is None
    assert difference(one, one[:, :1], torch.float32, 8) == math.inf
    assert difference(one[:0], one[:0], torch.float32, 8) is None


def test_roundings_are_counted_against_another_precision():
    exact = torch.full((1, 1, 4), 1.0, dtype=torch.float64)
    off = (exact + 100 * torch.finfo(torch.float32).eps).float()
    assert roundings({None: off, "float64": exact}.get, torch.float32) == pytest.approx(100, rel=0.02)
    assert roundings({None: exact.float(), "float64": exact}.get, torch.float32) == LEAST
    assert roundings({None: off}.get, torch.float32) == 64


def test_the_truth_is_a_copy_in_float64_and_none_where_there_is_none():
    lab = lab_of(Layer())
    given = lab.given(lab.plain)
    truth = lab.truth(given, lab.plain)
    assert truth.dtype == torch.float64
    assert_close(truth.float(), lab.out(given, lab.plain))

    class Fixed(nn.Module):
        def forward(self, x):
            return x @ torch.eye(16, dtype=torch.float32)

    lab = lab_of(Fixed())
    assert lab.truth(lab.given(lab.plain), lab.plain) is None


def test_the_same_input_twice_gives_no_noise(labs):
    for lab in labs.values():
        assert lab.noise(lab.plain) == 0
