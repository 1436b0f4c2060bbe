"""`edgewise trace`, as it is typed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgewise.cli import main
from edgewise.records import open_record
from edgewise.samples import shipped

pytest.importorskip("transformers", reason="needs the extra: pip install 'edgewise[transformers]'")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """What the command printed: on standard output, or where it fails on standard error."""
    assert main(["trace", *arguments]) == status
    told = capsys.readouterr()
    return told.err if status else told.out


def test_a_small_model_is_traced_written_and_shown_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "tiny.edgewise")
    first = said(capsys, "--tiny", "gpt2", "--out", file)
    assert first.startswith("tiny gpt2\n")
    assert "transformer.h.0…1.attn ×2" in first
    assert "causal()" in first
    assert "looking: 2,376 output numbers equal an untouched run's, bit for bit" in first
    assert f"wrote {file}, 0.1 MB; look again with: edgewise trace --show {file}" in first
    again = said(capsys, "--show", file)
    assert first.startswith(again.rstrip("\n"))
    assert open_record(file).inputs == {"reads": "random text"}


def test_without_a_file_it_says_how_to_keep_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--tiny", "gpt2").endswith("nothing was written: give --out X.edgewise to keep it\n")


def test_what_is_kept_can_be_chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "some.edgewise")
    chosen = ["--sites", "1", "--heads", "0,2-3", "--rows", "5", "--keep", "float16", "--check", "all"]
    said(capsys, "--tiny", "gpt2", "--out", file, *chosen)
    (call,) = open_record(file).calls
    assert call.site.layer == 1
    assert call.heads == (0, 2, 3)
    assert call.kept.rows == (5,)
    assert call.query.dtype == "float16"


def test_json_is_one_object_with_sites_calls_and_proof(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "--tiny", "t5", "--json"))
    assert found["target"] == "tiny t5"
    assert {site["kind"] for site in found["sites"]} == {"self", "cross"}
    assert found["proof"]["difference"] == 0
    assert found["residual"] < 1e-5
    assert found["sites"][0]["calls"][0]["route"].startswith("transformers: ")


def test_a_run_of_our_own_trainer_is_a_model_and_goes_on_writing(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, str(shipped()), "--prompt", "The king", "--generate", "4")
    assert "tokens   12: 'The king" in told
    assert "1…8 × 8…11" in told
    assert "bit for bit" in told


def test_a_run_says_how_much_it_can_read(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, str(shipped()), "--prompt", "The king", "--generate", "100000", status=2)
    assert "tokens; got 8 to read and 100000 to write" in told


def test_a_text_comes_from_a_file_and_may_be_cut(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("The king is dead", encoding="utf-8")
    told = said(capsys, str(shipped()), "--text-file", str(tmp_path / "book.txt"), "--length", "8")
    assert "tokens   8: 'The king'" in told
    (tmp_path / "bytes.txt").write_bytes(b"ab\xff")
    wrong = said(capsys, str(shipped()), "--text-file", str(tmp_path / "bytes.txt"), status=2)
    assert "bytes.txt is not, at byte 2" in wrong
    assert "there is no file nope.txt" in said(capsys, str(shipped()), "--text-file", "nope.txt", status=2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "wanted one model to look at, TARGET or --tiny TYPE: TARGET is a hub name (org/name), a folder"),
        (["gpt2", "--tiny", "gpt2"], "TARGET or --tiny TYPE; got gpt2 and --tiny gpt2: TARGET is"),
        (["--tiny", "gpt-2"], "wanted a type of model that transformers knows, like gpt2 or bert; got 'gpt-2'; close"),
        (["--tiny", "gpt2", "--heads", "a"], "--heads wants numbers like 0,3,5-8; got 'a'"),
        (["--tiny", "gpt2", "--heads", "9"], "heads must be from 0 to 3 at transformer.h.0.attn; got [9]"),
        (["--tiny", "gpt2", "--sites", "nope"], "no attention was seen"),
        (["--tiny", "gpt2", "--device", "abacus"], "wanted a device of this machine; got 'abacus': "),
        (["--tiny", "gpt2", "--text", "a"], "tiny gpt2 came without a tokenizer: give --ids 1,2,3"),
        (["--tiny", "gpt2", "--generate", "-1"], "--generate and --length are numbers of tokens; got -1"),
        (["--tiny", "gpt2", "--out", "no/such/folder/x"], "wanted a place for the record; there is no folder no/such"),
        (["gpt2", "--show", "x.edgewise"], "--show prints a record that is there; got gpt2 as well"),
        (["--tiny", "mamba"], "no attention was seen"),
        (["--tiny", "gpt2", "--ids", "5000"], "running tiny gpt2 on what it was given failed at "),
        (["--tiny", "t5", "--ids", "50"], "says no token that a decoder begins with: give --decoder-text"),
        (["--tiny", "dinat"], "dinat needs the package natten: pip install natten"),
    ],
)
def test_a_mistake_is_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    wrong = said(capsys, *arguments, status=2)
    assert told in wrong
    assert wrong.startswith("edgewise: ")
    assert wrong.count("\n") == 1


def test_nothing_is_written_where_the_run_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said(capsys, "--tiny", "gpt2", "--heads", "9", "--out", str(tmp_path / "x.edgewise"), status=2)
    assert list(tmp_path.iterdir()) == []


def test_what_is_seen_and_not_understood_is_named_with_its_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(ROLLED, encoding="utf-8")
    file = str(tmp_path / "rolled.edgewise")
    first = said(capsys, f"{tmp_path}/model.py:Rolled", "--inputs", f"{tmp_path}/model.py:inputs", "--out", file)
    assert "\nnot explained: second: they go through roll\n" in first
    assert said(capsys, "--show", file).endswith("\nnot explained: second: they go through roll\n")


ROLLED = """
import torch
from torch import nn


class Plain(nn.Module):
    def forward(self, x):
        return (x @ x.transpose(1, 2)).softmax(-1) @ x


class Shifted(nn.Module):
    def forward(self, x):
        return (x @ x.transpose(1, 2)).roll(1, -1).softmax(-1) @ x


class Rolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Plain(), Shifted()

    def forward(self, x):
        return self.second(self.first(x))


inputs = (torch.ones(1, 4, 8),)
"""


def test_showing_a_record_needs_no_torch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "tiny.edgewise")
    said(capsys, "--tiny", "gpt2", "--out", file)
    code = f"""import sys; sys.modules["torch"] = None
from edgewise.cli import main
sys.exit(main(["trace", "--show", {file!r}]))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tiny gpt2\n")
