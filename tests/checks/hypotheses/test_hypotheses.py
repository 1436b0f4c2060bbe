"""What a wrong mask looks like: each mistake is told from every other that can be told from it."""

import numpy as np
import pytest

from edgewise.checks.hypotheses import explained, handed_out, headed, hypotheses, layouts, places
from edgewise.graphs import causal, chunks, documents, full, keys, prefix, window

LENGTH = 8
EYE = np.eye(LENGTH, dtype=bool)
GRAPHS = [
    causal(),
    full(),
    window(3),
    window(3, ahead=2),
    prefix(3),
    chunks(3),
    causal() & chunks(3),
    causal() & documents([0, 0, 0, 1, 1, 2, 2, 2]),
    causal() & keys([0, 0, 1, 1, 1, 1, 1, 1]),
    keys([1, 1, 1, 1, 1, 1, 0, 0]),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
@pytest.mark.parametrize("new", [(), (6, 1, 1), (3, 2, 3)], ids=str)
def test_each_prediction_is_explained_by_itself_or_by_one_that_predicts_the_same(graph, new):
    at = places(LENGTH, new=new)
    meant = graph.dense(LENGTH, LENGTH) & (at.key < at.there)
    for one in hypotheses(graph):
        cells = one.cells(at)
        found = explained(cells, graph, new=new)
        if (cells == meant).all():
            assert found is None, one.likely
        else:
            assert found is not None, one.likely
            assert (found.cells(at) == cells).all(), (one.likely, found.likely)


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_what_was_meant_is_explained_by_no_mistake(graph):
    meant = graph.dense(LENGTH, LENGTH)
    assert explained(meant, graph) is None
    assert explained(meant | EYE, graph, exact=False) is None


@pytest.mark.parametrize(
    ("graph", "measured", "kind", "words"),
    [
        (causal(), ~causal().dense(8, 8), "G1", "True means hide here"),
        (causal(), np.ones((8, 8), bool), "A1", "no mask is applied"),
        (causal(), causal().dense(8, 8).T, "A2", "transposed"),
        (causal(), np.tril(np.ones((8, 8), bool), 1), "A2", "one too high"),
        (causal(), np.tril(np.ones((8, 8), bool), -1), "B2", "own key is hidden"),
        (causal(), causal().dense(8, 8)[::-1], "A2", "flipped"),
        (full(), causal().dense(8, 8), "B3", "causal where both directions were meant"),
        (window(3), window(4).dense(8, 8), "C1", "distance ≤ 3"),
        (window(3), window(2).dense(8, 8), "C1", "only 2 keys"),
        (window(3), causal().dense(8, 8), "C2", "not applied"),
        (window(3), window(3, ahead=2).dense(8, 8), "C2", "lost its causal side"),
        (window(3), np.ones((8, 8), bool), "A1", "no mask"),
        (window(3, ahead=2), window(3).dense(8, 8), "C2", "lost the side that looks ahead"),
        (prefix(3), prefix(4).dense(8, 8), "C4", "first 4 keys"),
        (prefix(3), causal().dense(8, 8), "C4", "causal too"),
        (prefix(3), (causal() & keys([1] * 3 + [0] * 5)).dense(8, 8), "C3", "by and instead of or"),
        (causal() & chunks(3), causal().dense(8, 8), "C4", "chunks are not applied"),
        (causal() & chunks(3), (causal() & chunks(4)).dense(8, 8), "C4", "4 long instead of 3"),
        (causal() & chunks(4), (causal() | chunks(4)).dense(8, 8), "C3", "by or instead of and"),
        (causal() & documents([0] * 3 + [1] * 5), causal().dense(8, 8), "F1", "no block-diagonal mask"),
        (
            causal() & documents([0] * 3 + [1] * 5),
            (causal() & documents([0] * 4 + [1] * 4)).dense(8, 8),
            "F2",
            "one token late",
        ),
        (keys([1] * 6 + [0] * 2), np.ones((8, 8), bool), "D1", "not applied"),
        (keys([1] * 6 + [0] * 2), keys([0] * 6 + [1] * 2).dense(8, 8), "G1", "complemented"),
        (keys([1] * 6 + [0] * 2), keys([0] * 2 + [1] * 6).dense(8, 8), "D3", "wrong side"),
        (keys([1] * 6 + [0] * 2), keys([1] * 7 + [0]).dense(8, 8), "D3", "off by one"),
    ],
)
def test_a_wrong_mask_names_its_kind_and_cause(graph, measured, kind, words):
    found = explained(measured, graph)
    assert found is not None
    assert found.kind == kind, found.likely
    assert words in found.likely


def test_single_steps_that_see_the_first_key_alone_name_the_triangle_aligned_top_left():
    measured = causal().dense(8, 8)
    measured[6:] = np.arange(8) == 0
    found = explained(measured, causal(), new=(6, 1, 1))
    assert found is not None
    assert found.kind == "B1"
    assert "triangle aligned top-left, T_q≠T_k" in found.likely


def test_a_rectangle_aligned_top_left_is_told():
    found = explained(np.tril(np.ones((3, 7), bool)), causal())
    assert found is not None
    assert found.kind == "B1"


def test_several_layers_of_a_mistake_are_recognised_by_what_they_move():
    one = window(4).dense(10, 10)
    found = explained(one @ one, window(3), exact=False)
    assert found is not None
    assert found.kind == "C1"


def test_two_layers_of_what_was_meant_are_no_mistake():
    one = window(3).dense(10, 10)
    assert explained(one @ one, window(3), exact=False, layers=2) is None


def test_rows_that_are_not_judged_may_show_anything():
    measured = causal().dense(8, 8)
    measured[:2] = True
    measured[5, 6] = True
    assert explained(measured, causal()) is None
    rows = np.arange(8) >= 2
    measured[2:] = np.tril(np.ones((8, 8), bool), 1)[2:]
    found = explained(measured, causal(), rows=rows)
    assert found is not None
    assert found.kind == "A2"


def test_layouts_that_confuse_rows_and_time_differ_from_each_other_and_from_what_was_meant():
    own = causal().dense(5, 5)
    right = np.eye(3, dtype=bool)[:, None, :, None] & own[None, :, None, :]
    found = [one.cells for one in layouts(own, 3)]
    assert len(found) >= 8
    assert not any((one == right).all() for one in found)
    assert "batch_first" in next(iter(layouts(own, 3))).likely


def test_time_first_reads_the_same_token_of_other_rows_and_no_other():
    cells = next(iter(layouts(full().dense(5, 5), 3))).cells
    assert cells[0, 2, 1, 2]
    assert not cells[0, 2, 0, 3]


def test_heads_split_or_merged_without_a_transpose_are_three_different_pictures():
    found = [(one.kind, one.cells[0, :, 0]) for one in headed(causal().dense(8, 8), 4)]
    assert [kind for kind, _ in found] == ["J2", "J1", "J1"]
    assert not (found[0][1] == found[1][1]).all()
    assert not any((cells == causal().dense(8, 8)).all() for _, cells in found)


def test_tiled_masks_give_heads_the_masks_of_other_rows():
    masks = np.stack([keys([1] * 4).dense(4, 4), keys([1, 1, 0, 0]).dense(4, 4)])
    first = next(iter(handed_out(2, 4)))
    assert first.kind == "E2"
    assert first.rows.tolist() == [[0, 1, 0, 1], [0, 1, 0, 1]]
    assert first.cells(masks).shape == (2, 4, 4, 4)
