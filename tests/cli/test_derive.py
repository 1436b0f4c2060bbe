import json
from pathlib import Path

import pytest

from edgewise.cli import main
from edgewise.derivation import choose as choose_claims
from edgewise.derivation.claims import matmul


def test_claims_are_printed_with_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "--claims", "matmul.negative-weight", "scale.sharpening"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 claims; nothing is trained, so this takes seconds.\n")
    assert "✓ holds     matmul.negative-weight" in out
    assert "  measured  weights [0.5, −0.25, 0.75]" in out
    assert "± 0.006" in out
    assert "2 claims in 0.0 s: ✓ 2 hold" in out
    assert "\033" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_failing_claim_makes_the_exit_status_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul, "shares_of", lambda scores: [1.0] * len(scores))
    assert main(["derive", "--claims", "matmul.negative-weight"]) == 1
    out = capsys.readouterr().out
    assert "✗ fails     matmul.negative-weight" in out
    assert "  measured  weights [1, 1, 1]\n  expected  weights [0.5, −0.25, 0.75]" in out
    assert "failed: matmul.negative-weight" in out


def test_a_claim_without_its_text_is_skipped_and_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "--claims", "vocab", "head"]) == 0
    out = capsys.readouterr().out
    assert "– skipped   vocab.size" in out
    assert out.count("skipped: needs tinyshakespeare (--text PATH)") == 2
    assert "Skipped claims are about tinyshakespeare: name it with --text PATH." in out


def test_claims_as_json_have_the_promised_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "--claims", "--quick", "--json"]) == 0
    out = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert list(out) == ["claims"]
    assert [claim["id"] for claim in out["claims"]] == [claim.id for claim in choose_claims(quick=True)]
    for claim in out["claims"]:
        fields = ["id", "says", "status", "measured", "expected", "seconds"]
        assert list(claim) == fields + (["why"] if claim["status"] == "skipped" else [])
        assert claim["status"] in ("holds", "skipped")


def test_the_text_named_decides_whether_a_claim_can_be_measured(
    shakespeare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("to be, or not to be: " * 50)
    for path, status in ((shakespeare, "holds"), (other, "skipped")):
        assert main(["derive", "--claims", "vocab", "--json", "--text", str(path)]) == 0
        assert json.loads(capsys.readouterr().out)["claims"][0]["status"] == status


def test_mistakes_are_one_sentence_and_exit_two(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, sentence in (
        (["--claims", "scal"], "edgewise: no claim is called 'scal' (did you mean scale"),
        (["scal"], "edgewise: no rung is called 'scal' (did you mean 'scale'?)"),
        (["scale", "--claims"], "edgewise: claims are run by themselves: leave out the rung and --train"),
        (["--quick"], "edgewise: quick leaves out the claims that train; it needs claims"),
        (["--text", "nowhere.txt"], "edgewise: wanted text; there is no file or folder nowhere.txt"),
    ):
        assert main(["derive", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(sentence), captured.err
        assert captured.err.count("\n") == 1


def test_one_rung_is_shown_with_what_to_try_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "values"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("── values ──")
    assert "= [8.87, 1.13]" in out
    assert "Try next:" in out
    assert "derive --train" in out


def test_the_whole_story_fits_a_terminal_of_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("softmax(QKᵀ/√d)·V is earned here from 'take an average'")
    assert "── every symbol of softmax(QKᵀ/√d)·V ──" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\033" not in out
    assert all(line == line.rstrip() for line in out.splitlines())
