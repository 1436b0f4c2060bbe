import math

import torch

from edgewise.derivation.ink import Ink
from edgewise.derivation.story.layout import beside, matrix, number, row


def test_numbers_are_short_and_have_a_real_minus() -> None:
    assert [number(value, 2) for value in (1.0, -0.256, math.inf, -math.inf, math.nan, -0.0001)] == [
        "1", "−0.26", "∞", "−∞", "not a number", "0",
    ]  # fmt: skip


def test_a_matrix_of_one_row_stands_in_plain_brackets() -> None:
    assert matrix([[1, 2.5]]) == "[ 1  2.5 ]"
    assert row(torch.tensor([0.5, -1.0])) == "[0.5, −1]"


def test_blocks_of_different_height_stand_side_by_side() -> None:
    assert beside("a", "1\n2\n3", "b") == "   1\na  2  b\n   3"


def test_ink_without_colour_writes_no_codes_and_keeps_to_its_width() -> None:
    ink = Ink(width=20)
    assert ink.write("word", "bold", "red") == "word"
    assert ink.fold("one two three four five", "+ ") == "+ one two three four\n  five"
    assert len(ink.rule("title")) == 20


def test_ink_with_colour_counts_no_codes() -> None:
    ink = Ink(colour=True, width=20)
    assert ink.write("word", "bold") == "\033[1mword\033[0m"
    assert (
        ink.fold("one two three four five", ink.write("+ ", "green")) == "\033[32m+ \033[0mone two three four\n  five"
    )
