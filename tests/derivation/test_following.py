from dataclasses import replace

import pytest

from edgewise.derivation import Reading, follow
from edgewise.derivation import course as course_module
from edgewise.derivation.course import course
from edgewise.errors import ArgumentError

PROSE = Reading("prose", "the text is a sentence, over and over", "you thought through the house, thou knowest. " * 60)


@pytest.mark.parametrize("name", ["scale", "gpt", "batchnorm"])
def test_a_lesson_that_is_followed_comes_to_what_the_course_comes_to(name: str, monkeypatch) -> None:
    monkeypatch.setattr(course_module, "BUDGET", replace(course_module.BUDGET, steps=20))
    monkeypatch.setitem(course_module.OTHERWISE, "gpt", replace(course_module.OTHERWISE["gpt"], steps=20))
    moments = list(follow(name, PROSE))
    result = next(course(PROSE, [name]))
    assert moments[0].validation == moments[0].loss == result.start
    assert (moments[-1].validation, moments[-1].sample) == (result.validation, result.sample)
    assert [one.step for one in moments] == list(range(21))
    assert [one.step for one in moments if one.sample] == [*range(0, 21, 2)]


def test_each_loss_is_the_mean_since_the_one_before() -> None:
    every = list(follow("split", PROSE, steps=50))
    some = list(follow("split", PROSE, steps=130))
    assert [one.step for one in some[:4]] == [0, 2, 4, 6]
    assert [one.step for one in every[:3]] == [0, 1, 2]
    assert some[-1].step == 130


def test_a_lesson_that_is_stopped_ends_with_the_step_at_hand() -> None:
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 5

    assert max(one.step for one in follow("split", PROSE, steps=10_000, stop=stop)) == 0
    assert len(asked) == 5


def test_what_reads_two_sequences_is_not_trained_by_itself() -> None:
    with pytest.raises(ArgumentError, match=r"^cross reads two sequences: it is not trained as a language model$"):
        next(follow("cross", PROSE))
    with pytest.raises(ArgumentError, match="no rung is called 'gtp'"):
        next(follow("gtp", PROSE))
