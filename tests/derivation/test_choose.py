import pytest

from edgewise.derivation import CLAIMS, choose
from edgewise.errors import ArgumentError


def test_no_name_means_all_of_them() -> None:
    assert choose() == CLAIMS


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["hand.worked-table"], ["hand.worked-table"]),
        (["hand"], ["hand.worked-table", "hand.pure-python", "hand.content-dependent"]),
        (["hand.*"], ["hand.worked-table", "hand.pure-python", "hand.content-dependent"]),
        (["*.by-hand"], ["average.by-hand", "softmax.by-hand", "position.by-hand"]),
        (["v.shape", "average.by-hand", "v.shape"], ["average.by-hand", "v.shape"]),
    ],
)
def test_a_name_is_an_id_a_section_or_a_pattern(names: list[str], ids: list[str]) -> None:
    assert [claim.id for claim in choose(names)] == ids


def test_quick_leaves_out_those_that_train() -> None:
    assert all(claim.seconds is None for claim in choose(quick=True))
    assert len(choose(quick=True)) == 69


def test_an_unknown_name_is_answered_with_those_near_it() -> None:
    with pytest.raises(ArgumentError) as caught:
        choose(["scale.sharpenin"])
    assert str(caught.value) == (
        "no claim is called 'scale.sharpenin' (did you mean scale.sharpening?); the sections are vocab, bigram, "
        "chunk, split, average, matmul, softmax, direction, position, qk, v, hand, graph, space, batch, encoder, "
        "cross, scale, head"
    )
    with pytest.raises(ArgumentError, match=r"no claim is called 'rank' \(did you mean qk\.rank\?\)"):
        choose(["rank"])
    with pytest.raises(ArgumentError, match=r"no claim is called 'zzz'; the sections are vocab"):
        choose(["zzz"])


def test_quick_with_nothing_left_says_so() -> None:
    with pytest.raises(ArgumentError, match=r"head\.loss-falls trains, and quick leaves out what trains"):
        choose(["head"], quick=True)
