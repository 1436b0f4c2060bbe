import pytest
import torch

from edgewise.checks.calls.calling import Refused, answer
from edgewise.checks.calls.route import Route
from edgewise.checks.finding import Skip
from edgewise.checks.infer import subject_of
from edgewise.checks.lab.lab import Lab
from edgewise.checks.lab.sampling import sampled
from edgewise.tracing import tiny_target

pytest.importorskip("transformers")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "gpt2",
            "input_ids=ids below 99 (batch, tokens), attention_mask=1 for a real token (batch, key), position_ids=",
        ),
        ("bert", "input_ids=ids below 99 (batch, tokens), attention_mask=1 for a real token (batch, key)"),
        ("t5", "decoder_attention_mask=1 for a real token (batch, key), input_ids=ids (batch, keys), the memory"),
        ("whisper", "input_features=floats (batch, "),
        ("vit", "pixel_values=pixels (batch, 3, 64, 64), output_hidden_states=True"),
        ("roberta", "position_ids=the position of each token, from 1 (batch, query)"),
    ],
)
def test_every_kind_of_model_is_called(name, said):
    subject = subject_of(tiny_target(name))
    assert said in str(subject)
    assert subject.library == "transformers"
    out = answer(subject, sampled(subject), Route()).out
    assert out.shape[0] == 2
    if subject.reads == "ids":
        assert out.shape[1] == subject.length


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "t5", "whisper", "mamba"])
def test_a_decoder_goes_on_with_its_cache(name):
    subject = subject_of(tiny_target(name))
    given = sampled(subject)
    whole, parts = (answer(subject, given, Route(cached=cached)).out for cached in ((), (3, 1)))
    torch.testing.assert_close(parts, whole, atol=1e-5, rtol=1e-4)


def test_backends_are_chosen_for_one_call():
    subject = subject_of(tiny_target("llama"))
    assert subject.backends == ("eager", "sdpa", "flex_attention")
    given, before = sampled(subject), subject.target.config._attn_implementation
    found = {one: answer(subject, given, Route(weights=True, backend=one)) for one in ("eager", "sdpa")}
    assert subject.target.config._attn_implementation == before
    torch.testing.assert_close(found["eager"].out, found["sdpa"].out)
    assert found["eager"].weights is not None
    assert found["eager"].weights.shape == (2, 4, 8, 8)
    with pytest.raises(Refused, match="it does not take the attention implementation nonsense"):
        answer(subject, given, Route(backend="nonsense"))


def test_left_padding_comes_with_positions():
    subject = subject_of(tiny_target("gpt2"))
    given = sampled(subject, 1)
    padded = given.replace(
        tokens=torch.cat([torch.full((1, 2), 41), given.tokens], 1),
        keep=torch.cat([torch.zeros(1, 2, dtype=torch.bool), torch.ones(1, 8, dtype=torch.bool)], 1),
    )
    out = answer(subject, padded, Route(batch=1, mask="left")).out[:, 2:]
    torch.testing.assert_close(out, answer(subject, given, Route(batch=1)).out, atol=1e-5, rtol=1e-4)


def test_a_map_of_features_is_read_place_by_place():
    subject = subject_of(tiny_target("segformer"))
    assert subject.output_axes == "batch channels height width"
    assert answer(subject, sampled(subject), Route()).out.shape == (2, 4, 256)


def test_experts_are_run_one_by_one_in_double_precision():
    subject = subject_of(tiny_target("mixtral"))
    given = sampled(subject)
    double = answer(subject, given, Route(dtype="float64")).out
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), answer(subject, given, Route()).out, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["audioflamingo3", "omniasr", "mllama", "muse_spark", "paligemma"])
def test_the_mask_of_the_text_is_found_beside_those_of_sounds_and_pictures(name):
    subject = subject_of(tiny_target(name))
    assert subject.mask is not None
    assert (subject.main, subject.mask.name) == (("input_ids",), "attention_mask")


@pytest.mark.parametrize("name", ["idefics", "kosmos-2", "blip-2", "instructblip"])
def test_a_model_that_wants_a_picture_is_read_beside_one(name):
    subject = subject_of(tiny_target(name))
    assert subject.mask is not None
    assert (subject.reads, subject.main, subject.mask.name) == ("ids", ("input_ids",), "attention_mask")
    given = sampled(subject)
    out = answer(subject, given, Route()).out
    assert out.shape[:2] == (2, subject.length)
    padded = given.replace(keep=torch.ones(2, subject.length, dtype=torch.bool))
    torch.testing.assert_close(answer(subject, padded, Route(mask="ones")).out, out)


def test_what_hears_beside_what_was_said_is_read_by_what_it_hears():
    subject = subject_of(tiny_target("parakeet_rnnt"))
    assert (subject.reads, subject.main) == ("features", ("input_features",))
    assert "decoder_input_ids" in subject.fixed


@pytest.mark.parametrize("name", ["vision-encoder-decoder", "whisper"])
def test_no_output_depends_on_a_token_of_a_memory_that_is_a_picture_or_a_sound(name):
    lab = Lab(subject_of(tiny_target(name)))
    assert lab.given(lab.plain).memory is not None
    with pytest.raises(Skip, match="its memory is a picture or a sound, so that no output depends on a token of it"):
        lab.influence(lab.plain, row=1, of="memory")


@pytest.mark.parametrize(("name", "shape"), [("diffusion_gemma", "batch memory+key"), ("t5", "batch key")])
def test_a_mask_over_memory_and_tokens_is_told_from_one_over_tokens(name, shape):
    subject = subject_of(tiny_target(name))
    assert subject.mask is not None
    assert subject.mask.shape == shape
    given = sampled(subject)
    keep = torch.ones(2, given.length, dtype=torch.bool)
    keep[:, 1] = False
    other = given.tokens.clone()
    other[:, 1] = other[:, 2]
    one, two = (answer(subject, given.replace(tokens=each, keep=keep), Route()).out for each in (given.tokens, other))
    torch.testing.assert_close(one[:, 2:], two[:, 2:], atol=1e-5, rtol=1e-4)


def test_one_that_fails_at_making_its_cache_is_called_without():
    subject = subject_of(tiny_target("blt"))
    assert "use_cache=False" in str(subject)
    assert answer(subject, sampled(subject), Route()).out.shape[:2] == (2, subject.length)
