import pytest
import torch

from edgewise.ladder import RUNGS, Size, rung
from edgewise.training.choose import Chooser
from edgewise.training.decode import Cached, Uncached, generate

BLOCK = 16
SIZE = Size(vocabulary=29, block=BLOCK, width=24, heads=3, layers=3)


def opinionated(name="gpt", size=SIZE, seed=0):
    """A model whose next token is far from uniform, so that a wrong key or position changes what it writes."""
    model = rung(name).build(size, seed=seed).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7)) * 0.4)
    return model


def prompt_of(length, batch=3):
    return torch.randint(SIZE.vocabulary, (batch, length), generator=torch.Generator().manual_seed(length))


def written(decoder, prompt, steps=3 * BLOCK, **choice):
    return torch.stack(list(generate(decoder, prompt, steps, Chooser(**choice))), dim=1)


@pytest.mark.parametrize("length", [1, 5, BLOCK - 1, BLOCK, BLOCK + 7])
@pytest.mark.parametrize(
    "choice",
    [
        {"seed": 0},
        {"seed": 1, "temperature": 0.6},
        {"seed": 2, "temperature": 1.4, "top_k": 5},
        {"seed": 3, "top_p": 0.8},
        {"seed": 4, "top_k": 9, "top_p": 0.9},
        {"temperature": 0.0},
    ],
    ids=str,
)
def test_cached_writes_what_uncached_writes_token_for_token_within_and_past_the_block(length, choice):
    model = opinionated()
    prompt = prompt_of(length)
    expected = written(Uncached(model, BLOCK), prompt, **choice)
    assert written(Cached(model, SIZE.heads), prompt, **choice).tolist() == expected.tolist()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("batch", [1, 5])
def test_cached_logits_are_those_of_the_model_on_the_last_block_of_tokens(layers, batch):
    model = opinionated(size=Size(vocabulary=29, block=BLOCK, width=24, heads=3, layers=layers))
    tokens = prompt_of(BLOCK + 6, batch)
    decoder = Cached(model, SIZE.heads)
    for length in range(3, BLOCK + 6):
        found = decoder.read(tokens[:, :3]) if length == 3 else decoder.step(tokens[:, length - 1])
        with torch.no_grad():
            expected = model(tokens[:, max(0, length - BLOCK) : length])[:, -1]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_keys_kept_past_the_block_would_be_caught():
    class Stale(Cached):
        @torch.inference_mode()
        def step(self, token):
            if self._length == self._block:  # drop the oldest row and go on with keys of other positions
                for kept in self._kept:
                    kept.rows.copy_(kept.rows.roll(-1, 0))
                self._length -= 1
            return super().step(token)

    model, prompt = opinionated(), prompt_of(5)
    expected = written(Uncached(model, BLOCK), prompt, seed=0)
    found = written(Stale(model, SIZE.heads), prompt, seed=0)
    room = BLOCK - 5 + 1  # the last token of the block still sees all of it
    assert found[:, :room].tolist() == expected[:, :room].tolist()
    assert found.tolist() != expected.tolist()


def test_a_decoder_that_reads_again_has_forgotten_what_it_read():
    model = opinionated()
    decoder = Cached(model, SIZE.heads)
    written(decoder, prompt_of(4))
    assert (
        written(decoder, prompt_of(5), seed=3).tolist()
        == written(Cached(model, SIZE.heads), prompt_of(5), seed=3).tolist()
    )


def test_a_model_in_half_precision_is_decoded_in_half_precision():
    model = opinionated().to(torch.bfloat16)
    decoder = Cached(model, SIZE.heads)
    assert decoder.read(prompt_of(4)).dtype == torch.bfloat16
    assert written(decoder, prompt_of(4)).shape == (3, 3 * BLOCK)


def test_the_model_is_left_as_it_was():
    model = opinionated()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    written(Cached(model, SIZE.heads), prompt_of(4))
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)
    model(prompt_of(4)).sum().backward()  # what inference mode had touched could not be differentiated


@pytest.mark.parametrize("name", [rung.name for rung in RUNGS if rung.name != "cross"])
def test_every_rung_writes_past_its_block(name):
    size = Size(vocabulary=29, block=4, width=24, heads=3, layers=2)
    tokens = written(Uncached(opinionated(name, size), 4), prompt_of(2), steps=9, seed=1)
    assert tokens.shape == (3, 9)
    assert tokens.min() >= 0
    assert tokens.max() < 29
