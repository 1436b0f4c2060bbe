"""One fault, one finding: what follows from something is told with it, and two faults are told as two."""

import itertools

import pytest

from edgewise.checks import PROPERTIES
from edgewise.checks.calls.route import Route
from edgewise.checks.causes.consequences import CAUSES, follows, rank
from edgewise.checks.causes.folding import Looked, folded
from edgewise.checks.finding import Finding, Observation

PLAIN = Route()
ASKED = Route(weights=True)
LEFT = Route(mask="left")
CACHED = Route(cached=(3, 1, 1))
FUSED = Route(switches=(("fused", False),))


def seen(offence: str, kind: str, route: Route, *, warning: bool = False) -> Observation:
    return Observation(offence, kind, route, "is so", "was meant so", warning=warning)


def told(*looked: tuple[str, list[tuple[str, Route]], list[Route]]) -> list[tuple[str, list[str]]]:
    """Fold what properties saw, each given as (name, [(kind, route)], routes looked at): cause and consequences."""
    several = [Looked(name, tuple(seen(name, *one) for one in found), tuple(routes)) for name, found, routes in looked]
    return [(one.cause.kind, [also.kind for also in one.consequences]) for one in folded(several)]


def test_nothing_seen_is_no_finding() -> None:
    assert told(("scale", [], [PLAIN])) == []


def test_a_mask_lost_where_weights_are_asked_for_is_one_fault() -> None:
    assert told(
        ("future-leak", [("A1", ASKED)], [PLAIN, ASKED]),
        ("padding-leak", [("D1", Route(weights=True, mask="left"))], [LEFT, Route(weights=True, mask="left")]),
        ("path-mismatch", [("L6", ASKED)], [PLAIN, ASKED]),
    ) == [("A1", ["D1", "L6"])]


def test_routes_of_one_kind_are_told_together_and_the_clean_ones_beside_them() -> None:
    found = folded([Looked("padding-leak", (seen("padding-leak", "D1", LEFT),), (LEFT, Route(mask="right"), FUSED))])
    assert [(one.routes, one.clean) for one in found] == [((LEFT,), (Route(mask="right"), FUSED))]


def test_a_difference_follows_where_the_cause_is_on_the_plain_way_and_not_on_the_other() -> None:
    other = Route(mask="left", switches=FUSED.switches)
    assert told(
        ("padding-leak", [("D1", LEFT)], [LEFT, other]),
        ("path-mismatch", [("L6", other)], [LEFT, other]),
    ) == [("D1", ["L6"])]


def test_a_difference_between_ways_that_both_have_the_cause_is_a_fault_of_its_own() -> None:
    assert told(
        ("wrong-pattern", [("C1", PLAIN), ("C1", FUSED)], [PLAIN, FUSED]),
        ("path-mismatch", [("L6", FUSED)], [PLAIN, FUSED]),
    ) == [("C1", []), ("L6", [])]


def test_two_faults_on_the_same_routes_are_told_as_two() -> None:
    assert told(
        ("wrong-pattern", [("C1", PLAIN)], [PLAIN]),
        ("scale", [("I1", PLAIN)], [PLAIN]),
        ("head-mapping", [("J4", PLAIN)], [PLAIN]),
    ) == [("C1", []), ("J4", []), ("I1", [])]


def test_a_fault_that_is_also_on_other_routes_is_told_of_those() -> None:
    found = folded(
        [
            Looked("future-leak", (seen("future-leak", "A1", ASKED),), (PLAIN, ASKED)),
            Looked(
                "padding-leak",
                (seen("padding-leak", "D1", LEFT), seen("padding-leak", "D1", Route(weights=True, mask="left"))),
                (LEFT, Route(weights=True, mask="left")),
            ),
        ]
    )
    assert [(one.cause.kind, one.routes) for one in found] == [("A1", (ASKED,)), ("D1", (LEFT,))]


def test_what_a_mask_means_is_the_cause_of_what_is_seen_through_it() -> None:
    assert told(
        ("future-leak", [("A1", PLAIN)], [PLAIN]),
        ("mask-meaning", [("G1", PLAIN)], [PLAIN]),
        ("normalisation", [("H3", PLAIN)], [PLAIN]),
    ) == [("G1", ["A1", "H3"])]


def test_a_cached_step_that_sees_less_explains_that_it_differs_from_the_whole_pass() -> None:
    assert told(
        ("lost-visibility", [("B1", CACHED)], [PLAIN, CACHED]),
        ("path-mismatch", [("L1", CACHED), ("L1", Route(cached=(1, 1)))], [CACHED, Route(cached=(1, 1))]),
    ) == [("B1", ["L1"])]


def test_a_warning_never_hides_a_failure() -> None:
    found = folded(
        [
            Looked("mask-meaning", (seen("mask-meaning", "G2", PLAIN, warning=True),), (PLAIN,)),
            Looked("future-leak", (seen("future-leak", "A1", PLAIN),), (PLAIN,)),
        ]
    )
    assert [(one.cause.kind, one.cause.warning) for one in found] == [("A1", False), ("G2", True)]


def test_every_kind_that_explains_has_a_place_and_explains_properties_or_kinds_there_are() -> None:
    names = {one.name for one in PROPERTIES}
    for kind, may in CAUSES.items():
        assert rank(kind) < rank("L1"), kind
        assert set(may) - names <= {"E3", "H3", "K4", "K5", "F3"}, kind


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(["I1", "J4", "K1", "D1", "C1"], 2)))
def test_independent_kinds_do_not_explain_each_other(one: str, other: str) -> None:
    home = {"I1": "scale", "J4": "head-mapping", "K1": "position", "D1": "padding-leak", "C1": "wrong-pattern"}
    assert not follows(one, home[other], other)


def test_the_plainest_route_is_the_one_that_is_told() -> None:
    several = (
        seen("future-leak", "A1", Route(weights=True, mask="ones")),
        seen("future-leak", "A1", ASKED),
    )
    (found,) = folded([Looked("future-leak", several, tuple(one.route for one in several))])
    assert isinstance(found, Finding)
    assert found.cause.route == ASKED


def test_rows_that_are_mixed_explain_that_the_size_of_the_batch_matters() -> None:
    single = Route(batch=1)
    assert told(
        ("batch-leak", [("E1", PLAIN)], [PLAIN]),
        ("path-mismatch", [("L6", single)], [PLAIN, single]),
    ) == [("E1", ["L6"])]


def test_a_mask_that_hides_nothing_changes_something_where_only_one_of_both_has_the_fault() -> None:
    ones = Route(mask="ones")
    assert told(
        ("future-leak", [("A1", ones)], [PLAIN, ones]),
        ("path-mismatch", [("L6", ones)], [PLAIN, ones]),
    ) == [("A1", ["L6"])]


def test_a_doubt_about_the_same_kind_is_told_with_the_failure() -> None:
    several = (seen("normalisation", "H3", LEFT), seen("normalisation", "H3", FUSED, warning=True))
    (found,) = folded([Looked("normalisation", several, (LEFT, FUSED))])
    assert (found.cause.warning, found.routes, len(found.consequences)) == (False, (LEFT,), 1)


def test_dropout_in_evaluation_is_the_cause_of_weights_that_do_not_sum_to_one() -> None:
    assert told(
        ("normalisation", [("H4", PLAIN)], [PLAIN]),
        ("path-mismatch", [("L4", PLAIN)], [PLAIN]),
    ) == [("L4", ["H4"])]


def test_a_lost_mask_is_one_fault_however_it_looks_beside_other_masks() -> None:
    ones, cached = Route(weights=True, mask="ones"), Route(weights=True, cached=(3, 1, 1))
    both = [PLAIN, ASKED, Route(mask="ones"), ones]
    assert told(
        ("future-leak", [("A1", ASKED)], both),
        ("wrong-pattern", [("C3", ones)], both),
        ("path-mismatch", [("L2", cached), ("L6", ASKED), ("L6", ones)], [*both, cached]),
    ) == [("A1", ["L2", "C3", "L6"])]


def test_a_future_that_is_read_everywhere_explains_that_a_cache_makes_a_difference() -> None:
    chunks, single = Route(cached=(3, 2, 3)), Route(cached=(1, 1, 1))
    assert told(
        ("future-leak", [("A1", PLAIN), ("A1", chunks)], [PLAIN, chunks, single]),
        ("path-mismatch", [("L2", chunks), ("L2", single)], [PLAIN, chunks, single]),
    ) == [("A1", ["L2"])]


def test_a_window_that_is_wrong_everywhere_does_not_explain_a_cache_that_is_wrong() -> None:
    assert told(
        ("wrong-pattern", [("C1", PLAIN), ("C1", CACHED)], [PLAIN, CACHED]),
        ("path-mismatch", [("L1", CACHED)], [PLAIN, CACHED]),
    ) == [("C1", []), ("L1", [])]
