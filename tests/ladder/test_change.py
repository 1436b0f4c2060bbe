import pytest

from edgewise.errors import ArgumentError
from edgewise.ladder import RUNGS, Counts, Rung, change

FOLLOWERS = [step for step in RUNGS if step.follows]
ZEROS = "scores = torch.zeros(length, length).to(x)"
PRODUCT = "scores = self.query(x) @ self.key(x).transpose(-2, -1)"
MASK = "scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)"
SCORES = f"""\
LanguageModel.__init__
    self.position = Learned(size.block, size.width)
  + self.query = nn.Linear(size.width, size.width, bias=False)
  + self.key = nn.Linear(size.width, size.width, bias=False)
    self.predict = nn.Linear(size.width, size.vocabulary)
LanguageModel.forward
    x = self.token(tokens) + self.position(length)
  − {ZEROS}
  + {PRODUCT}
    {MASK}"""


def follows(step: Rung) -> str:
    assert step.follows is not None
    return step.follows


@pytest.mark.parametrize("step", FOLLOWERS, ids=lambda step: step.name)
def test_a_rung_changes_as_many_lines_as_it_says(step: Rung) -> None:
    assert change(follows(step), step.name).counts == step.changed


@pytest.mark.parametrize(
    "name", ["split", "positions", "scores", "values", "scale", "encoder", "feedforward", "batchnorm"]
)
def test_one_line_of_the_forward_pass_changes(name: str) -> None:
    (step,) = (step for step in RUNGS if step.name == name)
    assert change(follows(step), name).forward.count == 1


def test_a_line_that_slips_into_a_rung_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Rung.source

    def grown(step: Rung) -> str:
        text = source(step)
        return text.replace("        out =", "        x = x * 1\n        out =") if step.name == "scores" else text

    monkeypatch.setattr(Rung, "source", grown)
    assert change("positions", "scores").counts == Counts(2, 2, 0)


def test_from_an_average_to_attention_one_line_differs() -> None:
    forward = change("positions", "scores").forward
    assert forward.removed == (ZEROS,)
    assert forward.added == (PRODUCT,)


def test_the_mask_the_softmax_and_the_blend_are_the_same_code_before_and_after() -> None:
    kept = [line.text.strip() for line in change("positions", "scores").forward.lines if line.sign == " "]
    assert kept[-4:-1] == [MASK, "weights = torch.softmax(scores, dim=-1)", "out = weights @ x"]


def test_encoder_and_decoder_differ_by_the_line_of_the_mask_and_nothing_else() -> None:
    whole = change("scale", "encoder")
    assert whole.removed == (MASK,)
    assert whole.added == ()
    assert whole.count == 1


def test_a_change_reads_as_a_diff_with_a_heading_for_each_place() -> None:
    assert change("positions", "scores").text() == SCORES


def test_colour_is_added_to_the_signs_and_never_stands_for_them() -> None:
    coloured = change("positions", "scores").forward.text(colour=True, context=0)
    assert coloured == f"LanguageModel.forward\n  \033[31m− {ZEROS}\033[0m\n  \033[32m+ {PRODUCT}\033[0m"


def test_an_empty_part_has_no_text() -> None:
    assert change("positions", "scores").elsewhere.text() == ""


def test_more_context_shows_more_lines() -> None:
    shown = change("scale", "encoder").text(context=2).splitlines()
    assert len(shown) == 1 + 2 + 1 + 2


def test_the_data_form_holds_every_line_of_both() -> None:
    data = change("positions", "scores").data()
    assert (data["before"], data["after"]) == ("positions", "scores")
    assert data["counts"] == {"forward": 1, "constructor": 2, "elsewhere": 0}
    assert data["lines"][0] == {"sign": " ", "text": "import torch", "where": "", "part": "elsewhere"}
    changed = [(line["sign"], line["text"].strip()) for line in data["lines"] if line["part"] == "forward"]
    assert ("-", ZEROS) in changed
    assert ("+", PRODUCT) in changed


@pytest.mark.parametrize("step", FOLLOWERS, ids=lambda step: step.name)
def test_the_lines_of_a_change_are_the_lines_of_both_sources(step: Rung) -> None:
    whole = change(follows(step), step.name)
    back = change(step.name, follows(step))
    assert sorted(whole.removed) == sorted(back.added)
    assert sorted(whole.added) == sorted(back.removed)
    assert whole.forward.count + whole.constructor.count + whole.elsewhere.count == whole.count


def test_a_change_needs_two_rungs_that_exist() -> None:
    with pytest.raises(ArgumentError, match="no rung is called 'trigram'"):
        change("bigram", "trigram")
