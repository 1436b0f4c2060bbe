from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.errors import ArgumentError, DataError, MissingError
from edgewise.training import BytePairs, Characters
from edgewise.training.pairs import between_words
from edgewise.training.tokens import from_json, learn

PROSE = "the cat sat on the mat\nand  the rat\n\n\tran past — 漢字, naïve 😀\n" * 20
PAIRS = BytePairs.of([PROSE], 290)
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts)
def test_characters_come_back_as_they_were(text: str) -> None:
    tokenizer = Characters.of([text])
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids.tolist()) == text
    assert tokenizer.decode_bytes(ids.tolist()) == text.encode()
    assert tokenizer.vocabulary == "".join(sorted(set(text)))


@given(texts)
def test_byte_pairs_bring_back_every_text_even_one_they_have_not_seen(text: str) -> None:
    ids = PAIRS.encode(text).tolist()
    assert PAIRS.decode(ids) == text
    assert PAIRS.decode_bytes(ids) == text.encode()
    assert b"".join(PAIRS.decode_bytes([one]) for one in ids) == text.encode()


def test_half_a_character_is_bytes_and_no_text() -> None:
    first, *_ = PAIRS.encode("é").tolist()
    assert PAIRS.decode_bytes([first]) == "é".encode()[:1]
    assert PAIRS.decode([first]) == "�"


def test_byte_pairs_need_fewer_tokens_than_characters() -> None:
    assert PAIRS.size == 290
    assert len(PAIRS.encode(PROSE)) < 0.7 * len(PROSE)


@given(st.integers(1, 40), texts)
def test_cutting_between_words_changes_no_token(size: int, text: str) -> None:
    text = text + PROSE
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    cut = list(between_words(pieces))
    assert "".join(cut) == text
    assert np.concatenate([PAIRS.encode(piece) for piece in cut]).tolist() == PAIRS.encode(text).tolist()


def test_a_text_without_a_seam_is_cut_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewise.training.pairs.LONGEST", 10)
    assert list(between_words(["abcdef"] * 4)) == ["abcdefabcdef"] * 2


def test_both_tokenizers_come_back_from_json() -> None:
    letters = Characters("abc\n漢")
    assert from_json(letters.to_json()) == letters
    again = from_json(PAIRS.to_json())
    assert isinstance(again, BytePairs)
    assert again.encode(PROSE).tolist() == PAIRS.encode(PROSE).tolist()


def test_each_says_what_it_is() -> None:
    assert Characters("abc").says == "characters, 3 of them"
    assert PAIRS.says == "byte pairs, 290 tokens"


def test_a_vocabulary_is_learnt_or_read_from_a_file(tmp_path: Path) -> None:
    assert learn("characters", 0, ["ba", "ac"]) == Characters("abc")
    assert learn("pairs", 260, ["banana"]).size <= 260
    (tmp_path / "letters.json").write_text(Characters("xyz").to_json())
    assert learn(str(tmp_path / "letters.json"), 0, []) == Characters("xyz")


def test_a_tokenizer_of_another_kind_can_be_loaded(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"the": 0, "cat": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    loaded = learn(str(tmp_path / "tokenizer.json"), 0, [])
    assert loaded.says == "a loaded vocabulary, 3 tokens"
    assert loaded.encode("the dog").tolist() == [0, 2]
    assert loaded.decode([0, 1]) == "the cat"
    assert loaded.decode_bytes([0, 1]) == b"the cat"


def test_a_special_token_is_spelt_as_it_stands() -> None:
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_str(PAIRS.to_json())
    tokenizer.add_special_tokens([AddedToken("<|end of text|>", special=True)])
    loaded = BytePairs(tokenizer.to_str())
    assert loaded.decode(loaded.encode("a<|end of text|>b").tolist()) == "a<|end of text|>b"


def test_an_unknown_character_is_named_with_its_place() -> None:
    with pytest.raises(DataError) as mistake:
        Characters("abc\n").encode("ab\ncaz")
    assert str(mistake.value) == (
        r"wanted characters of the vocabulary; got 'z' at line 2, column 3; the 4 known are abc\n"
    )


def test_a_long_vocabulary_is_shown_in_part() -> None:
    with pytest.raises(DataError, match=r"the 200 known are .*…$"):
        Characters("".join(map(chr, range(300, 500)))).encode("a")


def test_mistakes_in_a_vocabulary_are_named(tmp_path: Path) -> None:
    wanted = (
        'wanted v.json to be {"kind": "characters", "vocabulary": "abc…"} '
        "or a tokenizer.json of the tokenizers library; "
    )
    for content, wrong in (
        ("{,}", "it is not JSON (line 1, column 2)"),
        ("[]", "it is JSON of another kind"),
        ('{"kind": "characters", "vocabulary": 3}', "its vocabulary is not a string"),
    ):
        with pytest.raises(DataError) as mistake:
            from_json(content, "v.json")
        assert str(mistake.value) == wanted + wrong
    with pytest.raises(DataError, match=r"^wanted a tokenizer.json of the tokenizers library; it says: "):
        from_json('{"model": 3}', "v.json")
    with pytest.raises(DataError) as twice:
        from_json('{"kind": "characters", "vocabulary": "aba"}', "v.json")
    assert str(twice.value) == "wanted a vocabulary of different characters; 'a' stands in it twice"
    with pytest.raises(MissingError) as missing:
        learn("none.json", 0, [])
    assert (
        str(missing.value)
        == 'wanted tokens to be "characters", "pairs" or a tokenizer.json; there is no file none.json'
    )
    (tmp_path / "v.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"^wanted a tokenizer.json; .*v\.json is not UTF-8 text$"):
        learn(str(tmp_path / "v.json"), 0, [])
    with pytest.raises(ArgumentError) as small:
        learn("pairs", 256, ["abc"])
    assert str(small.value) == "wanted a vocabulary of more than 256 tokens (every byte is one); got 256"
