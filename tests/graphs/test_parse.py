"""Graphs from text, and what is said where a text is none."""

import numpy as np
import pytest

from edgewise.errors import ArgumentError
from edgewise.graphs import causal, chunks, documents, full, keys, parse, prefix, window


def test_a_text_is_read_as_python_reads_it() -> None:
    assert parse("window(128) & chunks(64)") == window(128) & chunks(64)
    assert parse(" causal & ~(window(2, ahead=1) | prefix(3)) ") == causal() & ~(window(2, ahead=1) | prefix(3))
    assert parse("full | causal() & chunks(n=2)") == full() | causal() & chunks(2)
    assert parse("documents(cumulative=[0, 3, 7])") == documents([0, 0, 0, 1, 1, 1, 1])
    assert parse("documents([-1, 0, 0])") == documents([0, 1, 1])
    assert parse("keys([0] * 3 + [1] * 5)") == keys([0, 0, 0, 1, 1, 1, 1, 1])
    assert parse("keys([[True, False]] * 2)") == keys([[1, 0], [1, 0]])


WANTED = (
    "wanted a graph, such as window(128) & chunks(64), "
    "made of causal, chunks, documents, full, keys, prefix, window; got "
)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("sliding(3)", "'sliding(3)' at 'sliding(3)': 'sliding' is none of them; window(n)?"),
        ("causal & widow(3)", "'causal & widow(3)' at 'widow(3)': 'widow' is none of them; window(…)?"),
        ("xyz", "'xyz' at 'xyz': 'xyz' is none of them"),
        ("window(3", "'window(3' at '(3': this does not read as one"),
        ("", "'' at its end: this does not read as one"),
        ("1 + 2", "'1 + 2' at '1 + 2': this is no graph"),
        (
            "window(3) and full()",
            "'window(3) and full()' at 'window(3) and full()': graphs combine by & | ~, not by and, or, not",
        ),
        ("not causal()", "'not causal()' at 'not causal()': graphs combine by & | ~, not by and, or, not"),
        ("window(2.5)", "'window(2.5)' at '2.5)': wanted a whole number or a list of them here"),
        ("keys([0] * 10 ** 12)", "'keys([0] * 10 ** 12)' at '10 ** 12)': wanted a whole number or a list of them here"),
        (
            "keys([0] * 999999999)",
            "'keys([0] * 999999999)' at '[0] * 999999999)': wanted a whole number or a list of them here",
        ),
        ("window(**{})", "'window(**{})' at 'window(**{})': `**` has no meaning here"),
        ("keys([1, …])", "'keys([1, …])': a list that was cut with … cannot be read back"),
        ("keys([1, ...])", "'keys([1, ...])' at '...])': a list that was cut with … cannot be read back"),
        (
            "__import__('os')",
            "\"__import__('os')\" at \"__import__('os')\": '__import__' is none of them",
        ),
    ],
)
def test_what_is_no_graph_is_refused_with_its_place(text: str, rest: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse(text)
    assert str(caught.value).removeprefix(WANTED) == rest


def test_a_rule_called_in_another_way_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"at 'window': window is not called like this \(.*missing 1 required"):
        parse("window")
    with pytest.raises(ArgumentError, match=r"at 'causal\(3\)': causal is not called like this \(.*takes 0 positional"):
        parse("causal(3)")


def test_a_rules_own_refusal_comes_through() -> None:
    with pytest.raises(ArgumentError, match=r"^n of window\(n\) must be at least 1; got 0$"):
        parse("window(0)")


def test_long_texts_are_shown_cut() -> None:
    with pytest.raises(ArgumentError) as caught:
        parse("causal() & " * 20)
    assert "got 'causal() & causal() & " in str(caught.value)
    assert len(str(caught.value)) < 330


def test_a_list_written_by_repeats_reads_back_and_a_cut_one_says_why_not() -> None:
    assert parse(repr(keys([1] * 30 + [0] * 2))) == keys([1] * 30 + [0] * 2)
    for graph in (keys(np.arange(10_000) % 50 < 10), documents(cumulative=range(0, 2001, 10))):
        with pytest.raises(ArgumentError, match=r"a list that was cut with … cannot be read back$"):
            parse(repr(graph))
