import re

import pytest

import edgewise
from edgewise.errors import ArgumentError, DataError, MissingError
from edgewise.ladder import RUNGS, Size
from edgewise.ladder import rung as find_rung
from edgewise.training.folder import Loaded
from edgewise.training.sample import Piece, Request, sample, stream
from edgewise.training.tokens import BytePairs, Characters

LETTERS = Characters("\n abcdefgh")


def run(name="gpt", tokenizer=LETTERS, block=8):
    size = Size(vocabulary=tokenizer.size, block=block, width=24, heads=3, layers=2)
    model = find_rung(name).build(size).eval()
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data.mul_(8)
    return Loaded(model, tokenizer, size, name, 0, None, None)


def test_a_sample_begins_with_the_prompt_and_goes_on_for_the_tokens_asked_for():
    (text,) = sample(run(), "abc", tokens=20)
    assert text.startswith("abc")
    assert len(text) == 23


def test_the_verb_of_the_package_is_this_one():
    assert edgewise.sample is sample


def test_samples_side_by_side_are_those_of_the_seeds_that_follow():
    alone = [sample(run(), "a", tokens=30, seed=seed)[0] for seed in (4, 5, 6)]
    assert sample(run(), "a", tokens=30, seed=4, count=3) == alone
    assert len(set(alone)) == 3


def test_a_longer_sample_goes_on_where_the_shorter_ended():
    short, long = (sample(run(), "a", tokens=tokens)[0] for tokens in (15, 40))
    assert long.startswith(short)


@pytest.mark.parametrize("choice", [{"seed": 3}, {"temperature": 0}, {"top_k": 3, "top_p": 0.9, "temperature": 0.7}])
def test_cached_and_uncached_write_the_same(choice):
    texts = [sample(run(), "abcabcabcabc", tokens=40, count=2, cached=cached, **choice) for cached in (True, False)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", [rung.name for rung in RUNGS if rung.name != "cross"])
def test_every_rung_writes(name):
    (text,) = sample(run(name), "abcdefgh" * 2, tokens=12)
    assert len(text) == 28


def test_streamed_pieces_are_the_sample_character_by_character():
    request = Request("ab", tokens=12, seed=2)
    pieces = list(stream(run(), request))
    assert [piece.sample for piece in pieces] == [0] * 12
    assert all(len(piece.text) == 1 for piece in pieces)
    assert ["ab" + "".join(piece.text for piece in pieces)] == sample(run(), "ab", tokens=12, seed=2)


def test_pieces_come_before_the_rest_is_computed():
    class Counting:
        calls = 0

        def __init__(self, model):
            self.model = model

        def __call__(self, tokens):
            self.calls += 1
            return self.model(tokens)

        def parameters(self):
            return self.model.parameters()

    loaded = run("scale")
    counting = Counting(loaded.model)
    pieces = stream(Loaded(counting, LETTERS, loaded.size, "scale", 0, None, None), Request("a", tokens=50))
    assert isinstance(next(pieces), Piece)
    assert counting.calls <= 2


def test_a_sample_ends_before_its_stop_text_and_the_others_go_on():
    whole = sample(run(), "a", tokens=60, count=3)
    stop = whole[0][10:12]
    found = sample(run(), "a", tokens=60, count=3, stop=stop)
    expected = ["a" + text[1:].split(stop)[0] for text in whole]
    assert found == expected
    assert len(found[0]) <= 10
    assert sample(run(), "a", tokens=60, count=3, stop=[stop, "never there"]) == expected


def test_a_stop_text_in_the_prompt_ends_nothing():
    (text,) = sample(run(), "hhh", tokens=5, stop="hhh", seed=1)
    assert len(text) > 3


def test_byte_pairs_write_text_whatever_bytes_come():
    pairs = BytePairs.of(["the cat sat on the mat. "] * 20, 270)
    loaded = run(tokenizer=pairs)
    (whole,) = sample(loaded, "the → ", tokens=40, temperature=3.0)
    pieces = [piece.text for piece in stream(loaded, Request("the → ", tokens=40, temperature=3.0))]
    assert "the → " + "".join(pieces) == whole


def test_an_empty_prompt_begins_after_a_newline_that_is_not_shown():
    assert "\n" + sample(run(), "", tokens=20)[0] == sample(run(), "\n", tokens=20)[0]


def test_an_empty_prompt_without_a_newline_in_the_vocabulary_begins_after_the_first_token():
    letters = Characters("xyz")
    loaded = run(tokenizer=letters)
    assert "x" + sample(loaded, "", tokens=20)[0] == sample(loaded, "x", tokens=20)[0]


def test_unknown_characters_of_a_prompt_are_named_with_their_places():
    with pytest.raises(DataError) as caught:
        sample(run(), "abXc\nYaX")
    assert str(caught.value) == (
        "the prompt must be made of the 10 characters that the run learnt; it holds 'X' at line 1, column 3, "
        "'Y' at line 2, column 1; the characters are '\\n abcdefgh'"
    )


def test_of_many_unknown_characters_five_are_named():
    with pytest.raises(DataError, match=re.escape("'E' at line 1, column 5 and 2 more; the characters")):
        sample(run(), "ABCDEFGA")


def test_a_prompt_that_is_no_text_is_refused():
    pairs = BytePairs.of(["the cat sat on the mat. "] * 20, 270)
    with pytest.raises(DataError, match=r"^the prompt must be UTF-8 text; it is not at line 1, column 2$"):
        sample(run(tokenizer=pairs), "a\udcff")


def test_the_prompt_is_looked_at_before_the_first_piece_is_asked_for():
    with pytest.raises(DataError, match="the prompt must"):
        stream(run(), Request("X"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"tokens": 0}, "tokens must be at least 1; got 0"),
        ({"count": 0}, "count must be at least 1; got 0"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
        ({"seed": 2**63}, f"seed must be below 2**63; got {2**63}"),
        ({"temperature": -0.5}, "temperature must be at least 0 (0 takes the likeliest token); got -0.5"),
        (
            {"temperature": float("nan")},
            "temperature must be at least 0 (0 takes the likeliest token); got nan",
        ),
        ({"top_k": 0}, "top_k must be at least 1 (1 takes the likeliest token); got 0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1 (1 keeps every token); got 0.0"),
        ({"top_p": 1.01}, "top_p must be above 0 and at most 1 (1 keeps every token); got 1.01"),
        ({"stop": ""}, "a stop text must hold at least one character; got ''"),
        ({"stop": ["a", ""]}, "a stop text must hold at least one character; got ''"),
    ],
)
def test_a_number_outside_its_range_is_one_sentence(wrong, says):
    with pytest.raises(ArgumentError) as caught:
        sample(run(), "a", **wrong)
    assert str(caught.value) == says


def test_a_run_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(MissingError) as caught:
        sample(tmp_path / "nothing", "a")
    assert str(caught.value) == (
        f"wanted a run folder, as edgewise train makes it; {tmp_path / 'nothing'} does not exist"
    )


def test_the_random_state_and_the_model_are_left_as_they_were():
    import torch

    loaded = run()
    state = torch.random.get_rng_state()
    sample(loaded, "a", tokens=20)
    torch.testing.assert_close(torch.random.get_rng_state(), state)
    assert all(parameter.grad is None and not parameter.is_inference() for parameter in loaded.model.parameters())
