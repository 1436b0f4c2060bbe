"""Every way to ask a graph, against the plain rule written cell by cell in Python."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgewise.graphs import Graph, Ranges, causal, chunks, documents, full, keys, parse, prefix, recognise, window

Rule = Callable[[int, int, int], bool]


@dataclass
class Case:
    """A graph, and the same built from nothing: (sequence, position that reads, position that is read) → edge."""

    graph: Graph
    rule: Rule
    query: int
    key: int

    def dense(self) -> np.ndarray:
        sequences = range(self.graph.batch or 1)
        at = [row + self.key - self.query for row in range(self.query)]
        cells = [[[self.rule(s, position, key) for key in range(self.key)] for position in at] for s in sequences]
        found = np.array(cells, dtype=bool).reshape(len(sequences), self.query, self.key)
        return found if self.graph.batch is not None else found[0]


def _listed(draw: st.DrawFn, key: int, values: st.SearchStrategy[int], batch: int | None) -> list:
    one = st.lists(values, min_size=key, max_size=key)
    return draw(one if batch is None else st.lists(one, min_size=batch, max_size=batch))


@st.composite
def _rules(draw: st.DrawFn, key: int) -> tuple[Graph, Rule]:
    n, ahead = draw(st.integers(1, 6)), draw(st.integers(0, 3))
    batch = draw(st.sampled_from([None, None, 2]))
    ids, keep = _listed(draw, key, st.integers(0, 3), batch), _listed(draw, key, st.integers(0, 1), batch)
    own = (lambda one, s: one) if batch is None else (lambda one, s: one[s])
    return draw(
        st.sampled_from(
            [
                (full(), lambda s, q, k: True),
                (causal(), lambda s, q, k: k <= q),
                (window(n, ahead), lambda s, q, k: q - n < k <= q + ahead),
                (prefix(n), lambda s, q, k: k <= q or k < n),
                (chunks(n), lambda s, q, k: q // n == k // n),
                (documents(ids), lambda s, q, k: q >= 0 and own(ids, s)[q] == own(ids, s)[k]),
                (keys(keep), lambda s, q, k: own(keep, s)[k] == 1),
            ]
        )
    )


def _combined(parts: st.SearchStrategy[tuple[Graph, Rule]]) -> st.SearchStrategy[tuple[Graph, Rule]]:
    def both(one: tuple[Graph, Rule], other: tuple[Graph, Rule]) -> tuple[Graph, Rule]:
        return one[0] & other[0], lambda s, q, k: one[1](s, q, k) and other[1](s, q, k)

    def either(one: tuple[Graph, Rule], other: tuple[Graph, Rule]) -> tuple[Graph, Rule]:
        return one[0] | other[0], lambda s, q, k: one[1](s, q, k) or other[1](s, q, k)

    return st.one_of(
        st.builds(both, parts, parts),
        st.builds(either, parts, parts),
        parts.map(lambda one: (~one[0], lambda s, q, k: not one[1](s, q, k))),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    key, query = draw(st.integers(1, 11)), draw(st.integers(0, 13))
    return Case(*draw(st.recursive(_rules(key), _combined, max_leaves=4)), query, key)


@given(cases())
def test_dense_is_the_rule_cell_by_cell(case: Case) -> None:
    np.testing.assert_array_equal(case.graph.dense(case.query, case.key), case.dense())


@given(cases())
def test_ranges_are_the_runs_of_the_rule_in_normal_form(case: Case) -> None:
    ranges, wanted = case.graph.ranges(case.query, case.key), case.dense()
    np.testing.assert_array_equal(ranges.dense(), wanted)
    assert ranges.same(Ranges.from_dense(wanted))
    np.testing.assert_array_equal(ranges.counts(), wanted.sum(-1))
    assert ranges.batch == case.graph.batch
    gaps = ranges.start[..., 1:, :] - ranges.stop[..., :-1, :]
    assert ((gaps > 0) | (ranges.start[..., 1:, :] == case.key)).all()
    assert ranges.runs == 1 or (ranges.start[..., -1, :] < case.key).any()


@given(cases(), st.data())
def test_ranges_of_some_rows_are_those_rows_of_the_ranges(case: Case, data: st.DataObject) -> None:
    rows = slice(*sorted(data.draw(st.tuples(st.integers(0, case.query), st.integers(0, case.query)))))
    whole = case.graph.ranges(case.query, case.key)
    assert case.graph.ranges(case.query, case.key, rows).same(whole.part(rows))


@given(cases())
def test_count_is_the_number_of_edges(case: Case) -> None:
    assert case.graph.count(case.query, case.key) == case.dense().sum()


@given(cases(), st.data())
def test_cells_are_a_rectangle_of_dense(case: Case, data: st.DataObject) -> None:
    rows, columns = (
        slice(*sorted(data.draw(st.tuples(st.integers(0, size), st.integers(0, size)))))
        for size in (case.query, case.key)
    )
    found = case.graph.cells(rows, columns, case.query, case.key)
    np.testing.assert_array_equal(found, case.dense()[..., rows, columns])


@given(cases(), st.integers(1, 6))
def test_blocks_hold_every_edge_once_and_say_truly_what_is_full(case: Case, rows: int) -> None:
    wanted = case.dense().reshape(case.graph.batch or 1, case.query, case.key)
    covered = np.zeros(wanted.shape, dtype=int)
    for block in case.graph.blocks(case.query, case.key, rows):
        sequences = slice(None) if block.batch is None else slice(block.batch, block.batch + 1)
        cells = wanted[sequences, block.rows, block.keys]
        covered[sequences, block.rows, block.keys] += 1
        assert block.full == cells.all()
        assert cells.any()
        assert 0 < block.row_stop - block.row_start <= rows
        assert wanted[sequences, block.rows].any((0, 2))[[0, -1]].all(), "the first and the last row read something"
        assert block.size == cells[0].size
    assert covered.max(initial=0) <= 1
    assert not (wanted & (covered == 0)).any()


@given(cases(), st.integers(1, 5), st.integers(1, 5))
def test_tiles_count_the_edges_in_them(case: Case, rows: int, columns: int) -> None:
    wanted = case.dense()
    lines, across = np.arange(0, case.query, rows), np.arange(0, case.key, columns)
    counts = [[wanted[..., r : r + rows, c : c + columns].sum((-1, -2)) for c in across] for r in lines]
    found = case.graph.tiles(case.query, case.key, rows, columns)
    for line in range(len(lines)):
        for column in range(len(across)):
            np.testing.assert_array_equal(found[..., line, column], counts[line][column])


@given(cases())
def test_a_graph_reads_back_from_its_own_text(case: Case) -> None:
    again = parse(repr(case.graph))
    assert again == case.graph
    assert hash(again) == hash(case.graph)
    assert repr(again) == repr(case.graph)


@given(cases())
def test_what_is_recognised_has_exactly_the_measured_edges(case: Case) -> None:
    named = recognise(case.dense())
    if named is not None and case.query:
        wanted = case.dense()
        np.testing.assert_array_equal(np.broadcast_to(named.dense(case.query, case.key), wanted.shape), wanted)


@given(cases(), st.data())
def test_difference_tells_exactly_the_rows_and_edges_that_differ(case: Case, data: st.DataObject) -> None:
    other = data.draw(
        st.recursive(_rules(case.key), _combined, max_leaves=3).filter(
            lambda one: one[0].batch in (None, case.graph.batch)
        )
    )
    declared = Case(other[0], other[1], case.query, case.key)
    one, two = np.broadcast_arrays(case.dense(), declared.dense())
    found = case.graph.difference(declared.graph, case.query, case.key)
    assert (found is None) == (one == two).all() == case.graph.equals(declared.graph, case.query, case.key)
    if found is not None:
        assert found.count == (one != two).any(-1).sum()
        assert (found.extra, found.missing) == ((one & ~two).sum(), (two & ~one).sum())
        first = found.rows[0]
        place = (first.row,) if first.sequence is None else (first.sequence, first.row)
        for runs, row in ((first.measured, one[place]), (first.declared, two[place])):
            assert [key for start, stop in runs for key in range(start, stop)] == np.flatnonzero(row).tolist()
