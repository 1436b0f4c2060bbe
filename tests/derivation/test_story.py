import re

import pytest

from edgewise.derivation import Derivation, Ink, Scene, Screen, derive
from edgewise.derivation.reading import Reading
from edgewise.derivation.story import SCENES, told
from edgewise.derivation.story.ending import accounted, opening
from edgewise.errors import ArgumentError
from edgewise.ladder import RUNGS

PROSE = Reading("prose", "the text is a sentence, over and over", "you thought through the house, thou knowest. " * 60)


@pytest.fixture(scope="module")
def scenes() -> dict[str, str]:
    return {name: told(scene(PROSE), Ink()) for name, scene in SCENES.items()}


def test_there_is_a_scene_for_each_rung_in_the_order_of_the_ladder() -> None:
    assert list(SCENES) == [rung.name for rung in RUNGS]


def test_no_line_is_wider_than_a_terminal_and_none_has_codes(scenes: dict[str, str]) -> None:
    for text in [*scenes.values(), accounted(Ink()), opening(PROSE.why, Ink())]:
        assert "\033" not in text
        assert max(map(len, text.splitlines())) <= 80, max(text.splitlines(), key=len)


@pytest.mark.parametrize(
    ("rung", "lines"),
    [
        ("bigram", ["  after hou   come   ", "  Guessing costs ln "]),
        ("split", ["  + return self.predict(x)", "where guessing costs"]),
        ("loop", ["  h, o, u  mean of [2, 7], [6, 4], [6, 5] = [4.67, 5.33]"]),
        (
            "matmul",
            [
                "        ⎡    1     0     0 ⎤       ⎡ 2  7 ⎤     ⎡    2     7 ⎤",
                "  but scores [2, −1, 3] / sum = [0.5, −0.25, 0.75]: one weight is negative",
                "      scores [1, −1, 0] / sum = [∞, −∞, not a number]: nothing to divide by",
            ],
        ),
        ("softmax", ["  / sum         [0.27, 0.01, 0.72, 0]   positive, sum 1, the future exactly 0"]),
        (
            "positions",
            ["  dog  mean [1, 0.67]", "  god  mean [1, 0.67]   the same", "  god  [2.1, 1]  [0.2, 1]  [1.3, 0]"],
        ),
        (
            "scores",
            [
                "  − scores = torch.zeros(length, length).to(x)",
                "  + scores = self.query(x) @ self.key(x).transpose(-2, -1)",
                "  u looks at h: 4.0    h looks at u: 1.0    interest can be one-way",
            ],
        ),
        ("values", ["  u: 0.80·[10, 0] + 0.02·[0, 10] + 0.18·[5, 5] = [8.87, 1.13]"]),
        (
            "scale",
            [
                "  width                                 4       16       64      256",
                "  variance of query · key            4.00    16.11    64.21   257.39",
                "  softmax(8·s) = [0.03, 0, 0.16, 0, 0.8]          at width 64: almost one-hot",
            ],
        ),
        ("encoder", ["  with the line  ■ ■ · ·     without  ■ ■ ■ ■", "from scale: 1 line of the forward pass"]),
        ("attend", ["  the head above by attend(query, key, value, causal(), scale=1): u [8.87, 1.13]"]),
        ("layernorm", ["  [2, 7, 6, 4]       → [−1.43, 1.17, 0.65, −0.39]"]),
        ("batchnorm", ["by column  third row [0.5, 0.6, 0.667]"]),
        ("feedforward", ["  change row 5 of x: of feed(x) row 5 moves"]),
        ("gpt", ["  … all of it: edgewise derive gpt"]),
    ],
)
def test_a_scene_shows_its_numbers(rung: str, lines: list[str], scenes: dict[str, str]) -> None:
    for line in lines:
        assert line in scenes[rung]


def test_every_symbol_is_accounted_for_by_a_rung() -> None:
    text = accounted(Ink())
    for symbol, rung in (("· V", "values"), ("softmax", "softmax"), ("QKᵀ", "scores"), ("/ √d", "scale")):
        assert re.search(rf"{re.escape(symbol)}\s+{rung}", text)
    assert "From an average to attention 1 line changed:" in text


def test_one_rung_is_told_with_every_changed_line_of_it() -> None:
    result = derive("scores", text=None)
    assert [scene.rung for scene in result.scenes] == ["scores"]
    assert "  + self.query = nn.Linear(size.width, size.width, bias=False)" in str(result)
    record = result.record()["rungs"][0]
    assert record["rung"] == "scores"
    assert record["change"]["counts"] == {"forward": 1, "constructor": 2, "elsewhere": 0}


def test_the_whole_story_says_which_text_it_is_about() -> None:
    shown: list[str] = []
    result = derive(screen=Screen(shown.append))
    assert isinstance(result, Derivation)
    assert len(result.scenes) == len(RUNGS)
    assert "python" in "\n".join(shown[:1]).lower() or "tinyshakespeare" in shown[0]
    assert all(isinstance(scene, Scene) for scene in result.scenes)


def test_a_text_without_the_letter_u_can_be_told_of() -> None:
    other = Reading("other", "other", "abba baab " * 50)
    assert "  after hoa " in SCENES["bigram"](other).numbers


def test_an_unknown_rung_is_answered_with_the_one_near_it() -> None:
    with pytest.raises(ArgumentError, match=r"no rung is called 'scal' \(did you mean 'scale'\?\)"):
        derive("scal")


def test_what_does_not_go_together_says_so() -> None:
    with pytest.raises(ArgumentError, match="claims are run by themselves: leave out the rung and --train"):
        derive("scale", claims=True)
    with pytest.raises(ArgumentError, match="quick leaves out the claims that train; it needs claims"):
        derive(quick=True)
    with pytest.raises(ArgumentError, match="cross is not trained as a language model here; those that are: bigram"):
        derive("cross", train=True)
