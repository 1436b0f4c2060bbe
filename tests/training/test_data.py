import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgewise.errors import ArgumentError, DataError
from edgewise.training import BytePairs, Characters, Corpus
from edgewise.training.data import windows, write_tokens


def test_the_end_of_the_text_is_held_out() -> None:
    corpus = Corpus.of(np.arange(100), block=8, validation=0.2)
    assert corpus.training.tolist() == list(range(80))
    assert corpus.validation.tolist() == list(range(80, 100))


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**9))
def test_the_windows_of_a_step_depend_on_the_seed_and_the_step_alone(seed: int, step: int) -> None:
    corpus = Corpus.of(np.arange(1000), block=8)
    starts = corpus.starts(seed, step, 5, 8)
    assert starts.tolist() == corpus.starts(seed, step, 5, 8).tolist()
    assert starts.min() >= 0
    assert starts.max() + 8 < len(corpus.training)
    assert starts.tolist() != corpus.starts(seed, step + 1, 5, 8).tolist()


def test_every_place_of_the_training_text_can_be_read() -> None:
    corpus = Corpus.of(np.arange(30), block=4, validation=0.2)
    seen = np.concatenate([corpus.starts(0, step, 64, 4) for step in range(20)])
    assert set(seen.tolist()) == set(range(len(corpus.training) - 4))


def test_targets_are_the_tokens_one_further_on() -> None:
    tokens, targets = windows(np.arange(20, dtype=np.uint16), np.array([0, 7]), 3)
    torch.testing.assert_close(tokens, torch.tensor([[0, 1, 2], [7, 8, 9]]))
    torch.testing.assert_close(targets, tokens + 1)


def test_validation_windows_lie_side_by_side_where_they_fit() -> None:
    corpus = Corpus.of(np.arange(1000), block=8)
    assert corpus.validation_starts(64, 8).tolist() == list(range(0, 92, 8))


def test_validation_windows_are_spread_evenly_where_there_are_too_many() -> None:
    corpus = Corpus.of(np.arange(10_000), block=8)
    starts = corpus.validation_starts(5, 8)
    assert starts[0] == 0
    assert starts[-1] + 8 == len(corpus.validation) - 1
    assert np.ptp(np.diff(starts)) <= 1


@pytest.mark.parametrize(("characters", "kind"), [(300, "<u2"), (70_000, "<u4")])
def test_tokens_are_written_in_the_smallest_kind_that_holds_them(tmp_path: Path, characters: int, kind: str) -> None:
    vocabulary = "".join(chr(code) for code in range(characters + 2048) if not 0xD800 <= code < 0xE000)[:characters]
    tokens, written = write_tokens([vocabulary[:100], vocabulary[100:]], Characters(vocabulary), tmp_path / "t")
    assert written == kind
    assert isinstance(tokens, np.memmap)
    assert tokens.tolist() == list(range(len(vocabulary)))
    assert Corpus.open(tmp_path / "t", 10, kind).validation.tolist() == tokens[-10:].tolist()


def test_a_text_is_written_without_ever_being_held_whole(tmp_path: Path) -> None:
    piece = "some words of a book, " * 4_000
    tokenizer = Characters.of([piece])
    list(tokenizer.encode("warm"))
    tracemalloc.start()
    tokens, _ = write_tokens((piece for _ in range(200)), tokenizer, tmp_path / "t")
    corpus = Corpus.of(tokens, block=8)
    windows(corpus.training, corpus.starts(0, 0, 12, 8), 8)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(tokens) == 200 * len(piece)
    assert most < len(tokens) / 4


def test_byte_pairs_are_written_the_same_however_the_text_is_cut(tmp_path: Path) -> None:
    text = "the cat sat\non the mat\n\nand the rat\n" * 30
    pairs = BytePairs.of([text], 280)
    cut, _ = write_tokens([text[at : at + 7] for at in range(0, len(text), 7)], pairs, tmp_path / "cut")
    assert cut.tolist() == pairs.encode(text).tolist()


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_an_unknown_character_is_placed_in_the_whole_text(tmp_path: Path, size: int) -> None:
    text = "ab\nabab\nabzb"
    with pytest.raises(DataError, match=r"got 'z' at line 3, column 3; the 3 known are ab\\n$"):
        write_tokens([text[at : at + size] for at in range(0, len(text), size)], Characters("ab\n"), tmp_path / "t")


def test_mistakes_in_the_split_are_named(tmp_path: Path) -> None:
    for part in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(ArgumentError) as wrong:
            Corpus.of(np.arange(100), 8, part)
        assert str(wrong.value) == (
            f"wanted validation, the part of the text that is held out, between 0 and 1; got {part}"
        )
    with pytest.raises(DataError) as short:
        Corpus.of(np.arange(50), 8)
    assert str(short.value) == (
        "wanted at least block + 1 = 9 tokens for validation; the text has 50 tokens, 5 of them for validation; "
        "use a longer text, a smaller block or a larger validation part"
    )
    with pytest.raises(DataError, match=r"1 of them for training; .* a smaller block or a smaller validation part$"):
        Corpus.of(np.arange(12), 8, 0.9)
    with pytest.raises(DataError, match=r"^wanted text; all of it is empty$"):
        write_tokens([], Characters("ab"), tmp_path / "t")
