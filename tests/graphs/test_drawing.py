"""What a graph looks like in the terminal."""

import pytest

from edgewise.errors import ArgumentError, ShapeError
from edgewise.graphs import causal, documents, keys, prefix, window


def _picture(text: str) -> str:
    return "\n".join(line[8:] for line in text.strip("\n").splitlines()).rstrip()


def test_a_small_graph_is_drawn_cell_by_cell() -> None:
    assert (causal() & documents([0, 0, 1, 1])).draw(4, 4) == _picture("""
        ■ · · ·
        ■ ■ · ·
        · · ■ ·
        · · ■ ■
    """)


def test_labels_stand_before_the_row_at_their_position() -> None:
    assert window(2).draw(4, 3, labels=["the", "\n", "cat"]) == _picture("""
             · · ·
        the  ■ · ·
         \\n  ■ ■ ·
        cat  · ■ ■
    """)
    assert window(2).draw(2, 3, width=16, labels=["the", "cat", "incomprehensible"]).splitlines() == [
        " cat  ■ ■ ·",
        "inc…  · ■ ■",
    ]


def test_a_large_graph_is_drawn_by_shares_in_the_width_given() -> None:
    assert prefix(1024).draw(4096, 4096, width=24) == _picture("""
        █████▓··················
        █████▓··················
        █████▓··················
        ██████▓░················
        ████████▓░··············
        ██████████▓░············
        ████████████▓░··········
        ██████████████▓░········
        ████████████████▓░······
        ██████████████████▓░····
        ████████████████████▓░··
        ██████████████████████▓░
        each character is 342 queries × 171 keys, ·░▒▓█ from none to all
    """)


def test_only_none_and_all_look_like_none_and_all() -> None:
    hidden, one = keys([1] * 999 + [0]), keys([0] * 999 + [1])
    assert hidden.draw(1, 1000, width=20).splitlines()[0] == "█" * 19 + "▓"
    assert one.draw(1, 1000, width=20).splitlines() == [
        "·" * 19 + "░",
        "each character is 1 query × 50 keys, ·░▒▓█ from none to all",
    ]


def test_sequences_are_drawn_one_by_one_up_to_four() -> None:
    assert keys([[1, 0], [0, 1]]).draw(1, 2) == "sequence 0\n■ ·\n\nsequence 1\n· ■"
    assert keys([[1, 0]] * 6).draw(1, 2).endswith("sequence 3\n■ ·\n\n… and 2 more")


def test_nothing_to_draw_is_said() -> None:
    assert causal().draw(0, 3) == "(nothing to draw: 0 queries, 3 keys)"


def test_a_drawing_that_cannot_be_is_refused() -> None:
    with pytest.raises(ArgumentError, match="width of a drawing must be at least 12; got 3"):
        causal().draw(3, 3, width=3)
    with pytest.raises(ShapeError, match="labels must name each of the 3 keys; got 2"):
        causal().draw(3, 3, labels=["a", "b"])
