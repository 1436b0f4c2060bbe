from dataclasses import replace

import pytest

from edgewise.derivation import Ink, LessonResult, derive, table
from edgewise.derivation import course as course_module
from edgewise.derivation.course import COURSE, course
from edgewise.derivation.reading import Reading
from edgewise.ladder import RUNGS

PROSE = Reading("prose", "the text is a sentence, over and over", "you thought through the house, thou knowest. " * 60)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course_module, "BUDGET", replace(course_module.BUDGET, steps=3))
    few = {name: replace(recipe, steps=2) for name, recipe in course_module.OTHERWISE.items()}
    monkeypatch.setattr(course_module, "OTHERWISE", few)


def test_every_rung_on_the_way_and_the_one_that_cheats_take_part() -> None:
    assert set(COURSE) == {one.name for one in RUNGS if one.kind == "main"} | {"encoder"}


def test_a_lesson_says_what_the_rung_came_to(short: None) -> None:
    seen: list[tuple[str, int, int]] = []
    results = list(course(PROSE, ["split", "gpt"], lambda *told: seen.append(told)))
    assert [result.rung for result in results] == ["split", "gpt"]
    split = results[0]
    assert split.lines == 1
    assert PROSE.tokenizer.size == 15
    assert split.parameters == 15 * 32 + 32 * 15 + 15
    assert split.steps == 3
    assert split.training < split.start
    assert split.sample.startswith("you thou")
    assert len(split.sample) == 68
    assert seen == [
        ("split (1 of 2)", 1, 3), ("split (1 of 2)", 2, 3), ("split (1 of 2)", 3, 3),
        ("gpt (2 of 2)", 1, 2), ("gpt (2 of 2)", 2, 2),
    ]  # fmt: skip
    assert results[0].record()["rung"] == "split"


def test_a_lesson_gives_the_same_numbers_again(short: None) -> None:
    first, second = (next(course(PROSE, ["scale"])) for _ in range(2))
    assert replace(first, seconds=0) == replace(second, seconds=0)


def test_the_table_compares_a_rung_with_the_one_that_it_follows() -> None:
    split = LessonResult("split", 1, 4225, 800, 4.34, 2.48, 2.49, 1.0, "First Ci\nab")
    scale = LessonResult("scale", 1, 7553, 800, 4.22, 2.39, 2.40, 2.0, "First Ci")
    encoder = LessonResult("encoder", 1, 7553, 800, 4.2, 0.41, 0.40, 2.0, "oooo")
    matmul = LessonResult("matmul", 4, 4225, 800, 4.3, 2.82, 2.83, 2.0, "x")
    ink = Ink()
    assert table.line(split, [], ink) == (
        "split            1       4,225    4.34     2.480       2.490                 1.0"
    )
    assert table.line(encoder, [scale], ink) == (
        "encoder          1       7,553    4.20     0.410       0.400    −2.00 ▼      2.0"
    )
    assert table.line(scale, [replace(scale, rung="values", validation=2.3)], ink).split()[-3:] == ["+0.10", "▲", "2.0"]
    assert table.line(scale, [replace(scale, rung="values")], ink).split()[-3:] == ["0.00", "=", "2.0"]
    assert "First Ci⏎ab" in table.samples([split], ink)
    assert "An average alone costs" in table.notes([split, matmul], ink)
    assert "what it writes without one is garbage" in table.notes([scale, encoder], ink).replace("\n", " ")
    assert table.notes([split], ink) == ""
    assert max(map(len, table.head(ink).splitlines())) <= 80


def test_a_rung_trains_beside_the_one_before(short: None) -> None:
    result = derive("values", train=True)
    assert [lesson.rung for lesson in result.lessons] == ["scores", "values"]
    assert list(result.record()) == ["rungs", "lessons"]
    assert "parameters" in str(result)


def test_what_is_said_beforehand_names_text_and_budget() -> None:
    said = table.beforehand(COURSE, PROSE, Ink()).replace("\n", " ")
    assert said.startswith("── the ladder trained ──")
    assert "The text is a sentence, over and over. Each rung learns it (2,700 characters, the last tenth held" in said
    assert "1000 steps of 32 windows" in said
    assert "loop 50, being slow; gpt is larger (block 32, width 64): 500 by muon" in said
    assert "s in all" in said
