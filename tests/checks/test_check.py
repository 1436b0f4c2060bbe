"""`check` as a whole: what it takes, what it refuses, and that nothing which goes wrong is a pass or a traceback."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from edgewise.checks import (
    PROPERTIES,
    Baseline,
    CheckFailure,
    Example,
    Observation,
    Property,
    Route,
    Skip,
    check,
    explained,
)
from edgewise.checks.examine import examined
from edgewise.checks.patience import OutOfTime, patience
from edgewise.errors import ArgumentError, DataError, MissingError
from edgewise.tracing import Target


class Layer(nn.Module):
    """Causal attention that can be made wrong in two ways."""

    def __init__(self, back: int = 3, scale: float = 0.5) -> None:
        super().__init__()
        self.back, self.scale = back, scale
        self.query, self.key, self.value = (nn.Linear(16, 16).double() for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (one(x).unflatten(-1, (4, 4)).transpose(1, 2) for one in (self.query, self.key, self.value))
        at = torch.arange(x.shape[1])
        back = at[:, None] - at
        scores = (query @ key.mT * self.scale).masked_fill((back < 0) | (back >= self.back), float("-inf"))
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)


class Leaky(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.project, self.causal = nn.Linear(16, 48).double(), causal

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(*parts, is_causal=self.causal).transpose(1, 2).flatten(2)


class Stack(nn.Module):
    """Three layers, the middle one without its mask."""

    def __init__(self, right: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Leaky(True), Leaky(right), Leaky(True)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


def build() -> nn.Module:
    return Layer()


def statuses(report: Any) -> dict[str, str]:
    return {one.name: one.status for one in report.results}


def test_a_window_that_holds_is_clean_and_one_too_far_is_told() -> None:
    assert check(Layer(), graph="window(3)").exit_status == 0
    (fault,) = check(Layer(back=4), graph="window(3)").failures
    assert (fault.cause.property, fault.cause.kind) == ("wrong-pattern", "C1")


def test_whether_a_window_counts_the_query_itself_is_declared() -> None:
    assert check(Layer(back=4), graph="window(3)", window_counts_self=False).exit_status == 0


def test_two_independent_faults_are_both_told() -> None:
    report = check(Layer(back=4, scale=0.25), graph="window(3)")
    assert [one.cause.property for one in report.failures] == ["wrong-pattern", "scale"]


def test_the_first_module_at_fault_is_named() -> None:
    (fault,) = check(Stack(), graph="causal()").failures
    assert (fault.cause.property, fault.cause.site) == ("future-leak", "layers.1")
    assert check(Stack(right=True), graph="causal()").exit_status == 0


@pytest.mark.parametrize("target", [build, Layer(), Target("named", Layer())])
def test_a_target_is_a_module_what_makes_one_or_what_a_name_stands_for(target: Any) -> None:
    assert check(target, only=["future-leak"], graph="causal() & window(3)").exit_status == 0


def test_a_name_is_a_target_and_its_replay_finds_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parent)])
    file = tmp_path / "layers_of_mine.py"
    file.write_text(Path(__file__).read_text(encoding="utf-8").split("\ndef statuses")[0], encoding="utf-8")
    report = check(f"{file}:Stack", graph="causal()", only=["future-leak"])
    (fault,) = report.failures
    assert report.target == f"{file}:Stack"
    with pytest.raises(AssertionError, match="moves by"):
        exec(compile(fault.cause.replay, "<replay>", "exec"), {})


def test_what_is_no_target_is_told_in_a_sentence() -> None:
    with pytest.raises(ArgumentError, match=r"a target is a module, a function, a name or what makes one; got int"):
        check(3)

    def fails() -> nn.Module:
        raise ValueError("no weights")

    with pytest.raises(ArgumentError, match=r"making the target failed: fails\(\) raised ValueError: no weights"):
        check(fails)
    with pytest.raises(ArgumentError, match="wanted a factory to make a module or a function; it made a int"):
        check(lambda: 3)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"only": ["futur-leak"]}, "there is no property 'futur-leak': did you mean future-leak"),
        ({"skip": ["nothing"]}, "there is no property 'nothing'; there are future-leak, lost-visibility"),
        ({"only": ["scale"], "skip": ["scale"]}, "no property is left to look at: `only` and `skip` name the same"),
        ({"length": 3}, "length must be at least 4 tokens, so that edges can be told apart; got 3"),
        ({"allow": {"scale": " "}}, "allowing scale needs a reason; got none: say why it is known and accepted"),
        ({"allow": {"scales": "x"}}, "there is no property 'scales': did you mean scale"),
        ({"scale": -1.0}, "scale is what scores are multiplied by, a number above 0; got -1.0"),
        ({"graph": "windo(3)"}, "wanted a graph, such as window"),
    ],
)
def test_a_mistake_in_what_is_declared_is_a_sentence(told: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says.replace("(", r"\(")):
        check(Layer(), **told)


def test_what_is_allowed_is_told_and_not_counted() -> None:
    report = check(Layer(back=4), graph="window(3)", allow={"wrong-pattern": "known since 2.1"})
    assert report.exit_status == 0
    assert report.result("wrong-pattern").status == "warn"
    assert report.result("wrong-pattern").why == "allowed: known since 2.1"
    assert "! warn  wrong-pattern C1: allowed: known since 2.1" in str(report)


def test_a_baseline_knows_what_was_there_and_nothing_new(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    Baseline.of(check(Layer(back=4), graph="window(3)")).write(file)
    known = Baseline.read(file)
    report = check(Layer(back=4), graph="window(3)", baseline=known)
    assert (report.exit_status, report.result("wrong-pattern").why) == (0, "known: it is in the baseline")
    worse = check(Layer(back=4, scale=0.25), graph="window(3)", baseline=known)
    assert [one.cause.property for one in worse.failures] == ["scale"]


def test_a_file_that_is_no_baseline_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"wanted a baseline; there is no file .*: write it with --write-baseline"):
        Baseline.read(tmp_path / "none.json")
    file = tmp_path / "other.json"
    for text, says in (
        ("[]", "is no baseline of edgewise: TypeError"),
        ("{", "is no baseline of edgewise: JSONDecodeError"),
        ('{"format": 9}', "is a baseline of format 9; this edgewise reads 1"),
    ):
        file.write_text(text)
        with pytest.raises(DataError, match=says):
            Baseline.read(file)


def made(examine: Any) -> Property:
    layer = Example(None)
    return Property("scale", "says", "why", "assumes", {"I1": "wrong"}, (), examine, lambda: layer, lambda: layer)


class Lab:
    """As little of a lab as a property can look at."""

    routes = (Route(),)

    def answer(self, route: Route) -> None:
        pass


def test_a_mistake_of_a_property_is_told_and_never_raised_nor_passed() -> None:
    def examine(lab: Any) -> Iterator[Observation]:
        yield Observation("scale", "I1", Route(), "is", "was meant")
        raise KeyError("lost")

    found = examined(made(examine), Lab())  # pyright: ignore[reportArgumentType]
    assert len(found.observations) == 1
    assert found.mistake.startswith("KeyError: 'lost' (")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Skip("it has no mask"), "it has no mask"),
        (MemoryError(), "memory ran out"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "memory ran out"),
        (OutOfTime(), "time ran out"),
    ],
)
def test_what_cannot_be_told_is_skipped_with_the_reason(error: BaseException, says: str) -> None:
    def examine(lab: Any) -> Iterator[Observation]:
        raise error
        yield

    found = examined(made(examine), Lab())  # pyright: ignore[reportArgumentType]
    assert (found.skipped, found.mistake) == (says, "")


def test_routes_that_a_property_looked_at_are_noted() -> None:
    def examine(lab: Any) -> Iterator[Observation]:
        lab.answer(Route())
        lab.answer(Route(batch=9))  # its own making
        return iter(())

    assert examined(made(examine), Lab()).routes == (Route(),)  # pyright: ignore[reportArgumentType]


def test_a_property_that_fails_itself_makes_the_report_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(lab: Any) -> Iterator[Observation]:
        raise KeyError("lost")
        yield

    monkeypatch.setattr(sys.modules["edgewise.checks.asked"], "PROPERTIES", (made(examine),))
    report = check(Layer())
    assert (report.exit_status, report.verdict) == (2, "edgewise itself failed at scale")
    assert report.result("scale").status == "skip"
    assert report.result("scale").why.startswith("error: edgewise failed here, please report it: KeyError: 'lost'")
    with pytest.raises(CheckFailure, match="edgewise itself failed at scale"):
        report.raise_for_failures()


class Sleepy(Layer):
    def forward(self, x: Tensor) -> Tensor:
        time.sleep(0.3)
        return super().forward(x)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # time may run out in a callback
def test_where_time_runs_out_what_was_not_reached_is_skipped() -> None:
    report = check(Sleepy(), budget=3.0)
    assert report.seconds < 6
    assert "skip" in statuses(report).values()
    assert "time ran out" in str(report)


def test_where_time_runs_out_at_once_nothing_passes() -> None:
    report = check(Sleepy(), budget=0.1)
    assert set(statuses(report).values()) == {"skip"}
    assert report.exit_status == 2
    assert report.notes == ("one call takes long: 0.1 s were not enough; give a larger budget",)


def test_patience_ends_and_leaves_no_alarm_behind() -> None:
    with pytest.raises(OutOfTime), patience(0.05):
        time.sleep(5)
    with patience(0.2) as clock:
        assert 0 < (clock.left() or 0) <= 0.2
    time.sleep(0.25)
    with patience(None) as clock:
        assert clock.left() is None


@pytest.mark.parametrize("one", PROPERTIES, ids=lambda one: one.name)
def test_every_property_explains_itself(one: Property) -> None:
    text = explained(one)
    assert max(map(len, text.split("Broken, and caught")[0].splitlines())) <= 120
    for part in (one.name, *one.kinds, *one.references):
        assert part in text
    assert "class " in text.split("Broken, and caught")[1] or "Example" in text or "return" in text


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    check(Layer(), only=["future-leak", "scale"], tell=lambda *one: told.append(one))
    assert told[:2] == [("future-leak", 0, 2), ("scale", 1, 2)]


class Drops(Layer):
    """Dropout that never stops."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(super().forward(x), 0.5, training=True)


def test_a_fault_of_a_target_without_masks_has_a_replay() -> None:
    (fault,) = check(Drops(), graph="window(3)").failures
    assert (fault.cause.property, fault.cause.kind) == ("path-mismatch", "L4")
    assert fault.cause.replay
