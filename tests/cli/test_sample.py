import io
import json
import os
import subprocess
import sys

import pytest

from edgewise.cli import main
from edgewise.cli.main import parser
from edgewise.samples import shipped
from edgewise.training import Request, sample

CARRIED = "no run was named: this is the small one that edgewise carries\n"


def said(capsys, *arguments, status=0):
    """Run the command and return what it printed on standard output and on standard error."""
    assert main(["sample", *arguments]) == status
    return capsys.readouterr()


def test_the_defaults_of_the_command_are_those_of_a_request():
    given = parser().parse_args(["sample"])
    for name in ("prompt", "tokens", "count", "temperature", "top_k", "top_p", "seed"):
        assert getattr(given, name) == getattr(Request(), name)
    assert tuple(given.stop) == Request().stop
    assert given.uncached is not Request().cached


def test_without_a_run_the_one_that_edgewise_carries_writes(capsys):
    out, err = said(capsys, "--prompt", "The ", "--tokens", "50")
    assert out.rstrip("\n") == sample(prompt="The ", tokens=50)[0].rstrip("\n")
    assert err == CARRIED


def test_a_run_that_is_named_writes_and_nothing_else_is_said(capsys):
    out, err = said(capsys, str(shipped()), "--prompt", "The ", "--tokens", "20", "--seed", "3")
    assert out.startswith(sample(shipped(), "The ", tokens=20, seed=3)[0])
    assert err == ""


def test_the_choices_reach_the_sampler(capsys):
    options = ["--temperature", "0.7", "--top-k", "9", "--top-p", "0.9", "--seed", "5", "--stop", "e ", "--stop", "xyz"]
    out, _ = said(capsys, "--prompt", "The ", "--tokens", "60", *options)
    expected = sample(prompt="The ", tokens=60, temperature=0.7, top_k=9, top_p=0.9, seed=5, stop=["e ", "xyz"])
    assert out.rstrip("\n") == expected[0].rstrip("\n")


def test_several_samples_are_told_apart_and_end_their_lines(capsys):
    out, _ = said(capsys, "--prompt", "The", "--tokens", "10", "--count", "2", "--seed", "7")
    first, second = sample(prompt="The", tokens=10, count=2, seed=7)
    ends = ["" if text.endswith("\n") else "\n" for text in (first, second)]
    assert out == f"── 1 of 2, seed 7 ──\n{first}{ends[0]}── 2 of 2, seed 8 ──\n{second}{ends[1]}"


def test_uncached_writes_the_same(capsys):
    texts = [said(capsys, "--prompt", "In ", "--tokens", "40", *more).out for more in ([], ["--uncached"])]
    assert texts[0] == texts[1]


def test_the_prompt_comes_from_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The ")))
    out, _ = said(capsys, "--prompt", "-", "--tokens", "20")
    assert out == said(capsys, "--prompt", "The ", "--tokens", "20").out


def test_the_prompt_comes_from_a_file_its_last_newline_too(capsys, tmp_path):
    (tmp_path / "prompt.txt").write_text("The\n")
    out, _ = said(capsys, "--prompt-file", str(tmp_path / "prompt.txt"), "--tokens", "20")
    assert out == said(capsys, "--prompt", "The\n", "--tokens", "20").out


def test_json_holds_each_sample_with_its_seed(capsys):
    out, _ = said(capsys, "--prompt", "The ", "--tokens", "20", "--count", "2", "--seed", "4", "--json")
    told = json.loads(out)
    assert told["samples"] == [
        {"seed": seed, "text": text}
        for seed, text in zip((4, 5), sample(prompt="The ", tokens=20, count=2, seed=4), strict=True)
    ]
    assert told["prompt"] == "The "
    assert told["rung"] == "gpt"
    assert told["run"] == str(shipped())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tokens", "0"], "tokens must be at least 1; got 0"),
        (["--count", "0"], "count must be at least 1; got 0"),
        (["--temperature", "-1"], "temperature must be at least 0 (0 takes the likeliest token); got -1.0"),
        (["--top-k", "0"], "top_k must be at least 1 (1 takes the likeliest token); got 0"),
        (["--top-p", "0"], "top_p must be above 0 and at most 1 (1 keeps every token); got 0.0"),
        (["--top-p", "2"], "top_p must be above 0 and at most 1 (1 keeps every token); got 2.0"),
        (["--seed", "-3"], "seed must be at least 0; got -3"),
        (["--stop", ""], "a stop text must hold at least one character; got ''"),
        (
            ["--device", "abacus"],
            "device must be auto, cpu or, where a GPU is, cuda; got 'abacus', and here is no such device",
        ),
        (["--prompt-file", "no-such.txt"], "wanted a file with the prompt; there is no file no-such.txt"),
        (["no-such-run"], "wanted a run folder, as edgewise train makes it; no-such-run does not exist"),
    ],
    ids=str,
)
def test_a_mistake_is_one_sentence_and_exit_2(capsys, arguments, says):
    assert said(capsys, *arguments, status=2).err == f"edgewise: {says}\n"


def test_an_unknown_character_is_named_with_its_place(capsys):
    err = said(capsys, "--prompt", "The\n λ", status=2).err
    assert "it holds 'λ' at line 2, column 2; the characters are " in err


def test_a_prompt_that_is_not_utf_8_is_refused(capsys, tmp_path):
    (tmp_path / "prompt.txt").write_bytes(b"The \xff")
    err = said(capsys, "--prompt-file", str(tmp_path / "prompt.txt"), status=2).err
    assert err == f"edgewise: the prompt must be UTF-8; {tmp_path / 'prompt.txt'} has byte 0xff at byte 4\n"


def test_a_run_without_a_checkpoint_is_one_sentence(capsys, tmp_path):
    for name in ("run.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((shipped() / name).read_bytes())
    err = said(capsys, str(tmp_path), status=2).err
    assert err == (f"edgewise: wanted a checkpoint; {tmp_path} has none yet; run edgewise train --resume {tmp_path}\n")


def test_a_checkpoint_that_had_to_be_replaced_is_told(capsys, tmp_path):
    for path in shipped().iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    err = said(capsys, str(tmp_path), "--last", "--tokens", "5").err
    assert err.startswith("edgewise: there is no last checkpoint; the best one (step ")


def test_characters_appear_as_they_come_and_a_reader_may_leave():
    command = [sys.executable, "-m", "edgewise", "sample", "--prompt", "The ", "--tokens", "1000000"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert process.stdout is not None
    assert process.stderr is not None
    # A million tokens take many minutes: what is read here was written before the end.
    assert process.stdout.read(10).startswith(b"The ")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read().decode() == CARRIED
    process.stderr.close()


def test_ctrl_c_leaves_the_terminal_at_the_beginning_of_a_line(capsys, monkeypatch):
    def interrupted(run, request):
        yield 0, "word"
        raise KeyboardInterrupt

    monkeypatch.setattr("edgewise.training.stream", interrupted)
    out, err = said(capsys, "--prompt", "A ", status=130)
    assert out == "A word\n"
    assert err == CARRIED + "edgewise: stopped\n"


def test_a_terminal_that_cannot_show_a_character_shows_a_question_mark():
    command = [sys.executable, "-m", "edgewise", "sample", "--prompt", "“A”", "--tokens", "1"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith(b"?A?")
