"""Positions that are left out of a step with a cache."""

import functools

import pytest
import torch

from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.properties.uncounted import uncounted
from edgewise.tracing import tiny_target

transformers = pytest.importorskip("transformers")


class Restarting(transformers.LlamaForCausalLM):
    """Positions begin at 0 in each part, unless they are said."""

    @functools.wraps(transformers.LlamaForCausalLM.forward)
    def forward(self, input_ids, position_ids=None, **told):
        places = torch.arange(input_ids.shape[1])[None] if position_ids is None else position_ids
        return super().forward(input_ids, position_ids=places, **told)


def few(target):
    lab = Lab(subject_of(target))
    lab.routes = tuple(one for one in lab.routes if one == lab.plain or (one.cached and one.mask == lab.plain.mask))[:3]
    return lab


def test_positions_that_begin_anew_where_they_are_left_out_are_told():
    model = tiny_target("llama").model
    model.__class__ = Restarting
    [found] = uncounted(few(model))
    assert (found.property, found.kind, found.query) == ("path-mismatch", "L1", 3)
    assert str(found.route).endswith("cached=3+1+1+1+1+1 · positions left out")
    assert found.likely.startswith("positions that are left out are not counted on from what the cache holds")


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_positions_that_are_counted_on_are_right(name):
    assert list(uncounted(few(tiny_target(name)))) == [None]


def test_where_no_positions_can_be_said_there_is_nothing_to_leave_out():
    assert not list(uncounted(few(tiny_target("t5"))))


def test_positions_that_go_by_what_an_earlier_text_left_are_told_as_that():
    model = tiny_target("qwen2_vl").model
    model.model.rope_deltas = torch.tensor([[-2]])
    [found] = uncounted(few(model))
    assert (found.kind, found.warning) == ("L2", True)
    assert found.likely.endswith("go by rope_deltas, which an earlier text has left in the model")
    assert model.model.rope_deltas.tolist() == [[-2]]
