import pytest

from edgewise.errors import ArgumentError
from edgewise.graphs import causal
from edgewise.records import Call, Record, row
from edgewise.views import text, view


def test_all_heads_are_a_table(shown):
    lines = text(shown).splitlines()
    assert lines[0] == "a <model>"
    assert lines[1].split() == ["site", "head", "entropy", "distance", "first", "previous", "self", "induction"]
    assert len(lines) == 2 + 8 + 1
    assert lines[-1] == "entropy in nats, distance in tokens, the rest weight: means over rows"


def test_a_head_is_a_picture_whose_forbidden_half_is_empty(shown):
    lines = text(shown, "h.0.attn", 1).splitlines()
    assert lines[0] == "h.0.attn, head 1: reads ↓, is read →; 1 × 1 cells a character"
    assert lines[1] == "█" + " " * 11
    assert all(line[number + 1 :].strip() == "" for number, line in enumerate(lines[1:13]))


def test_a_row_is_ranked_with_its_tokens_and_no_token_can_move_the_cursor(calls):
    words = ("a\x1b[2J", "b\u202e", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l")
    lines = text(Record(calls, tokens=(words,)), "h.1.attn", 2, 5).splitlines()
    assert lines[0] == "h.1.attn: query 5 'f' of head 2 reads (weights)"
    weights = [float(line.split()[0]) for line in lines[1:]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(float(row(calls[1], 0, 2, 5).max()), abs=1e-4)
    assert not any(one in "\n".join(lines) for one in ("\x1b", "\u202e"))
    assert "'a\\x1b[2J'" in "\n".join(lines)


def test_a_cell_is_its_arithmetic(shown):
    said = text(shown, "h.1.attn", 2, 5, 3)
    assert said.startswith("h.1.attn: query 5 ' mat', key 3 ' on'\n")
    assert "raw " in said
    assert "weight " in said


def test_a_row_without_edges_says_so(calls):
    one = calls[0]
    shifted = Call(one.site, 0, "x", one.query, one.key, one.value, one.out, 1.0, graph=causal() & ~causal())
    assert text(Record((shifted,)), "h.0.attn", 0, 3).splitlines()[-1] == "nothing: it has no edge"


def test_what_is_not_there_is_a_sentence(shown):
    with pytest.raises(ArgumentError, match=r"wanted a site of the record; got 'h\.9'"):
        text(shown, "h.9", 0)
    with pytest.raises(ArgumentError, match=r"head must be from 0 to 3 at h\.0\.attn; got 7"):
        text(shown, "h.0.attn", 7, 0)
    with pytest.raises(ArgumentError, match="wanted a record or its file; got int"):
        view(3)


def test_a_view_prints_saves_and_draws_itself(shown, tmp_path):
    anywidget = pytest.importorskip("anywidget")
    seen = view(shown)
    assert str(seen) == text(shown)
    assert repr(seen) == "View('a <model>', 2 sites)"
    assert seen.save(tmp_path / "a.html").stat().st_size > 10_000
    drawn = seen._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (drawn[0] if isinstance(drawn, tuple) else drawn)
    assert anywidget
