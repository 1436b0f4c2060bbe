import functools
import random
import sys
import time

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.checks import callees
from torch import nn

from edgewise.checks.calls.calling import answer
from edgewise.checks.calls.route import Route
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.sampling import sampled
from edgewise.checks.meaning.declared import Declared
from edgewise.errors import ArgumentError, RunError
from edgewise.graphs import causal


def _said(target, **told):
    return str(subject_of(target, **told))


def test_floats_of_the_right_width_are_found():
    subject = subject_of(callees.Plain())
    assert (subject.reads, subject.width, subject.kind, subject.mask) == ("floats", 16, "layer", None)
    assert str(subject) == "called as Plain(x=floats (batch, tokens, 16))\nfloat32"


def test_the_answer_is_found_among_what_is_returned():
    assert subject_of(callees.Tupled()).output == (2,)


def test_ids_stay_below_the_vocabulary_and_what_comes_next_is_told_where_that_is_wanted():
    subject = subject_of(callees.Language)
    assert (subject.reads, subject.vocabulary, subject.longest, subject.targets) == ("ids", 65, 32, "targets")
    assert answer(subject, sampled(subject, 2, 6), Route()).out.shape == (2, 6, 65)


def test_what_true_means_is_what_its_name_says():
    assert "key_padding_mask=True for a hidden one (batch, key)" in _said(callees.Masked())
    assert subject_of(nn.MultiheadAttention(16, 4, batch_first=True)).mask.form == "hide"


def test_a_mask_of_numbers_is_found_where_yes_and_no_cannot_be_taken_away():
    mask = subject_of(callees.Numbered()).mask
    assert (mask.form, mask.dtype, mask.shape) == ("keep", "int", "batch key")


def test_a_mask_that_a_target_takes_the_other_way_round_is_not_followed():
    class Wrong(callees.Layer):
        def forward(self, x, attention_mask):
            hidden = attention_mask[:, None].expand(-1, x.shape[1], -1)
            query = self.project(x)
            return (query @ query.mT).masked_fill(hidden, float("-inf")).softmax(-1) @ query

    subject = subject_of(Wrong())
    assert (subject.mask.form, subject.finite) == ("keep", False)


def test_numbers_to_add_are_told_from_yes_and_no_by_what_they_hide():
    assert subject_of(callees.added).square_mask.form == "additive"
    assert subject_of(callees.attention).square_mask.form == "keep"


def test_lengths_documents_and_positions_are_arguments_of_their_own():
    assert subject_of(callees.Lengths()).mask.form == "lengths"
    assert subject_of(callees.Packed()).documents.form == "ids"
    assert subject_of(callees.Buffered()).positions.form == "start"


def test_choices_of_two_are_swept_but_for_those_of_what_is_returned():
    assert subject_of(callees.Switched()).switches == (("fused", (True, False)),)


def test_a_function_of_query_key_and_value_is_called_with_unequal_lengths():
    subject = subject_of(callees.attention)
    shape = subject.shapes[0]
    assert (shape.query, shape.key, subject.layout, subject.kind) == (5, 7, "heads second", "function")
    assert subject.causal_flag.name == "causal"


def test_other_layouts_of_functions_are_found():
    assert subject_of(callees.heads_third).layout == "heads third"
    subject = subject_of(callees.no_heads)
    assert (subject.layout, subject.mask.form) == ("no heads", "hide")
    assert answer(subject, sampled(subject, 2), Route()).out.shape == (2, 1, 5, 8)


def test_sizes_are_what_a_functions_code_holds():
    heads, groups = 6, 2

    def grouped(q, k, v):
        return callees.attention(q, k.repeat_interleave(heads // groups, 1), v.repeat_interleave(heads // groups, 1))

    subject = subject_of(grouped)
    assert (subject.heads, subject.groups) == (6, 2)


def test_torchs_own_function_takes_grouped_heads():
    subject = subject_of(F.scaled_dot_product_attention)
    assert any(one.groups < one.heads for one in subject.shapes)


def test_a_declared_triangle_sets_the_flag_that_asks_for_it():
    assert subject_of(callees.attention, Declared(graph=causal())).fixed == {"causal": True}


@pytest.mark.parametrize(
    "target",
    [
        callees.Language,
        lambda: callees.Language(),
        lambda: (callees.Language(), "a tokenizer"),
        nn.DataParallel(callees.Language()),
        torch.compile(callees.Language(), backend="eager"),
        callees.Language().forward,
    ],
    ids=["class", "function", "function of two", "wrapper", "compiled", "method"],
)
def test_what_makes_or_wraps_a_model_is_seen_through(target):
    assert subject_of(target).vocabulary == 65


def test_a_partial_is_a_factory_or_a_function():
    assert subject_of(functools.partial(nn.MultiheadAttention, 16, 4, batch_first=True)).width == 16
    assert subject_of(functools.partial(callees.attention, causal=True)).kind == "function"


def test_a_function_around_a_module_reads_what_that_reads():
    inner = callees.Tupled()
    subject = subject_of(lambda x: inner(x)[2])
    assert (subject.width, subject.inner) == (16, (inner,))


def test_a_decoder_reads_a_memory():
    subject = subject_of(nn.Transformer(16, 4, 1, 1, 32, batch_first=True))
    assert (subject.main, subject.memory.name, subject.mask.name) == (("tgt",), "src", "tgt_key_padding_mask")
    assert {subject.memory_mask.name, *subject.memory_mask.also} == {"src_key_padding_mask", "memory_key_padding_mask"}


def test_parts_can_be_told():
    class Odd(callees.Layer):
        def forward(self, this, that=None, other=False):
            return self.attended(this, mask=None if that is None else that[:, None])

    subject = subject_of(Odd(), mask="that:keep", reads="floats", width=16, switches={"other": (True, False)})
    assert (subject.mask.name, subject.mask.form) == ("that", "keep")
    assert subject.switches == (("other", (True, False)),)
    assert subject_of(callees.Masked(), mask=None).mask is None
    assert subject_of(subject, length=4).length == 4
    assert "(tokens, batch, 16)" in _said(nn.MultiheadAttention(16, 4), layout="time first")


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"mask": "attn"}, "mask='attn': it takes no such argument; it takes x, key_padding_mask"),
        ({"mask": "x:upside"}, "mask='x:upside': a form is one of keep, hide, additive"),
        ({"flavour": 3}, "flavour is no part of how a target is called; parts are name, method, tokens"),
        ({"reads": "words"}, "reads is one of ids, floats, pixels, features, qkv; got 'words'"),
        ({"switches": {"fast": (True,)}}, "switches: it takes no argument fast; it takes x, key_padding_mask"),
    ],
)
def test_what_cannot_be_told_is_said(told, message):
    with pytest.raises(ArgumentError) as caught:
        subject_of(callees.Masked(), **told)
    assert message in str(caught.value)


class _Fails(callees.Layer):
    def forward(self, x):
        raise ValueError("not today")


class _Wants(callees.Layer):
    def forward(self, x, *, gizmo):
        return self.project(x) * gizmo.scale


class _Sums(callees.Layer):
    def forward(self, x):
        return self.project(x).sum()


class _Exits(callees.Layer):
    def forward(self, x):
        sys.exit(3)


class _Hungry(callees.Layer):
    def forward(self, x):
        return torch.empty(10**15)


class _Silent(nn.Module):
    pass


class _Deaf(callees.Layer):
    def forward(self):
        return 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            _Fails,
            "_Fails could not be called: 12 ways were tried; it raises ValueError: not today. Try: say what it reads",
        ),
        (_Wants, "Try: say what gizmo should be: arguments={'gizmo': …}"),
        (_Sums, "it returns nothing for each token (() for (3, 5, 16))"),
        (_Exits, "it raises SystemExit: 3"),
        (_Hungry, "it ran out of memory: "),
        (_Deaf, "_Deaf takes no argument that it could read from: say how it is called by a Subject"),
        (_Silent, "_Silent has no forward and no method that reads something: say which by method="),
        (callees.Plain().to("meta"), "Plain is on the meta device, which holds no numbers: give it weights first"),
        (3, "wanted a module, a function of attention, or what makes one; got int"),
    ],
)
def test_what_cannot_be_called_is_told_in_a_sentence(target, message):
    with pytest.raises(ArgumentError) as caught:
        subject_of(target)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_factory_that_fails_is_told():
    def build():
        raise KeyError("weights")

    with pytest.raises(
        RunError, match="build was called to make what is to be checked, and it raises KeyError: 'weights'"
    ):
        subject_of(build)


def test_finding_out_ends_when_its_time_is_over():
    class Slow(callees.Layer):
        def forward(self, x):
            time.sleep(60)

    began = time.perf_counter()
    with pytest.raises(ArgumentError, match=r"the time for finding out was over; it took longer than 0\.2 seconds"):
        subject_of(Slow(), seconds=0.2)
    assert time.perf_counter() - began < 10


def test_what_a_target_does_beside_is_noticed():
    assert subject_of(callees.Writing()).mutates == ("x",)
    assert subject_of(callees.Random()).random
    assert "draws random numbers in evaluation mode" in _said(callees.Random())


def test_what_is_drawn_elsewhere_is_noticed():
    class Elsewhere(callees.Layer):
        def forward(self, x):
            return self.project(x) * random.random() * np.random.random()

    subject = subject_of(Elsewhere())
    assert (subject.random, subject.draws, subject_of(callees.Random()).draws) == (True, True, False)


def test_an_argument_that_nothing_could_be_given_to_is_told():
    class Picky(callees.Layer):
        def forward(self, x, mask=None):
            if mask is not None:
                raise TypeError("wants another mask")
            return self.attended(x)

    assert "nothing is given to mask: every form that was tried fails (it raises TypeError: wants another" in _said(
        Picky()
    )


def test_a_vocabulary_is_not_taken_for_a_longer_table_of_positions():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(60, 16), torch.nn.Embedding(64, 16)

        def forward(self, idx):
            return self.tokens(idx) + self.places(torch.arange(idx.shape[1]))

    subject = subject_of(Model())
    assert subject.vocabulary == 60
    assert subject.longest == 64


@pytest.mark.parametrize("name", ["pixel_attention_mask", "pixel_mask", "image_embeds_position_mask"])
def test_a_mask_of_pictures_is_no_mask_of_the_text(name):
    space = {"nn": nn, "torch": torch}
    code = f"""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)

    def forward(self, input_ids, {name}=None, attention_mask=None):
        return self.embed(input_ids)
"""
    exec(code, space)
    subject = subject_of(space["Model"](), Declared())
    assert subject.mask is not None
    assert subject.mask.name == "attention_mask"


@pytest.mark.parametrize(
    ("others", "mask", "found"),
    [
        ("input_features=None, input_features_mask=None, attention_mask=None", "attention_mask", "attention_mask"),
        ("aspect_ratio_mask=None, aspect_ratio_ids=None, token_mask=None", "token_mask", "token_mask"),
        ("entity_ids=None, entity_attention_mask=None", "entity_attention_mask", None),
        ("token_type_ids=None, token_mask=None", "token_mask", "token_mask"),
        ("input_ids_mask=None, token_type_ids=None", "input_ids_mask", "input_ids_mask"),
    ],
)
def test_a_mask_named_after_another_argument_is_no_mask_of_what_is_read(others, mask, found):
    space = {"nn": nn, "torch": torch}
    code = f"""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)

    def forward(self, input_ids, {others}):
        assert {mask} is None or {mask}.shape == input_ids.shape
        return self.embed(input_ids)
"""
    exec(code, space)
    subject = subject_of(space["Model"](), Declared())
    assert (subject.mask and subject.mask.name) == found
