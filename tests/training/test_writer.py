import pytest
import tokenizers

from edgewise.training.tokens import BytePairs, Characters
from edgewise.training.writer import Writer

LETTERS = Characters("abcdé\n")


@pytest.fixture(scope="module")
def pairs():
    return BytePairs.of(["the cat sat on the mat. "] * 20, 270)


def pieces(tokenizer, text, stop=()):
    writer = Writer(tokenizer, stop)
    found = [writer.write([one]) for one in tokenizer.encode(text).tolist()]
    return [*found, writer.close()]


def test_text_comes_a_character_at_a_time():
    assert pieces(LETTERS, "abé\n") == ["a", "b", "é", "\n", ""]


def test_a_character_of_many_tokens_is_held_back_until_it_is_whole(pairs):
    assert len(pairs.encode("→")) == 3
    assert pieces(pairs, "a→b") == ["a", "", "", "→", "b", ""]


def test_a_character_that_never_becomes_whole_is_shown_as_unknown_at_the_end(pairs):
    writer = Writer(pairs)
    assert [writer.write([one]) for one in pairs.encode("→").tolist()[:2]] == ["", ""]
    assert writer.close() == "\ufffd"


def test_many_tokens_at_once_give_the_same_text(pairs):
    text = "the cat → the määt. "
    writer = Writer(pairs)
    assert writer.write(pairs.encode(text).tolist()) + writer.close() == text
    assert "".join(pieces(pairs, text)) == text


def test_a_tokenizer_that_drops_the_first_space_keeps_the_others():
    by_words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"▁a": 0, "▁cat": 1, "▁sat": 2, "?": 3}, unk_token="?"))
    by_words.decoder = tokenizers.decoders.Metaspace()
    writer = Writer(BytePairs(by_words.to_str()))
    assert [writer.write([one]) for one in (0, 1, 2)] == ["a", " cat", " sat"]


def test_a_stop_text_ends_it_and_is_not_written():
    assert pieces(LETTERS, "abcdabc", stop=("cd",)) == ["a", "b", "", "", "", "", "", ""]


def test_the_beginning_of_a_stop_text_is_held_back_and_written_when_it_was_none():
    assert pieces(LETTERS, "acca", stop=("ccd",)) == ["a", "", "", "cca", ""]
    assert pieces(LETTERS, "acc", stop=("ccd",)) == ["a", "", "", "cc"]


def test_the_first_of_several_stop_texts_ends_it():
    writer = Writer(LETTERS, ("d", "bc"))
    assert writer.write(LETTERS.encode("aabcd").tolist()) == "aa"
    assert writer.stopped


def test_a_stop_text_in_the_middle_of_a_token_ends_it_there(pairs):
    writer = Writer(pairs, ("h",))
    assert writer.write(pairs.encode("the").tolist()) == "t"


def test_nothing_is_written_after_a_stop_text():
    writer = Writer(LETTERS, ("b",))
    assert [writer.write([0]), writer.write([1]), writer.write([0]), writer.close()] == ["a", "", "", ""]
