"""`edgewise view` as it is typed."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from edgewise.cli import main


def test_it_prints_all_heads_of_the_shipped_model(capsys):
    assert main(["view", "--print"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "edgewise's own small GPT"
    assert len(lines) == 2 + 16 + 1


def test_it_goes_as_deep_as_it_is_told(capsys):
    where = ["view", "--print", "--site", "blocks.1.attention", "--head", "2"]
    assert main(where) == 0
    assert "reads ↓, is read →" in capsys.readouterr().out
    assert main([*where, "--query", "40"]) == 0
    assert "of head 2 reads (weights)" in capsys.readouterr().out
    assert main([*where, "--query", "40", "--key", "17"]) == 0
    assert "weight " in capsys.readouterr().out


def test_the_shipped_page_needs_no_torch():
    code = (
        "import sys; from edgewise.cli import main; main(['view', '--print']); "
        "print(sorted(one for one in ('torch', 'transformers') if one in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_model_that_is_named_is_looked_at(tmp_path, capsys):
    pytest.importorskip("transformers")
    assert main(["view", "--tiny", "gpt2", "--html", str(tmp_path / "tiny.html")]) == 0
    said = capsys.readouterr().out
    assert re.match(r"wrote .*tiny\.html, [\d.]+ MB: any browser opens it", said)
    assert (tmp_path / "tiny.html").read_bytes().startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.edgewise"], "nowhere.edgewise"),
        (["--port", "70000"], "--port is a number from 0 to 65535; got 70000"),
        (["--print", "--site", "nowhere"], "wanted a site of the record; got 'nowhere'"),
        (["--print", "--site", "blocks.0.attention", "--head", "9"], "head must be from 0 to 3"),
        (["--html", "/nowhere/at/all.html"], "cannot be written"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, said, capsys):
    assert main(["view", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_a_record_that_is_cut_short_is_one_sentence(tmp_path, capsys):
    from edgewise.samples import shipped

    whole = (shipped() / "trace.edgewise").read_bytes()
    (tmp_path / "cut.edgewise").write_bytes(whole[: len(whole) // 2])
    assert main(["view", str(tmp_path / "cut.edgewise"), "--print"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_it_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "edgewise", "view", "--no-open"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert address is not None, line
        with urllib.request.urlopen(address[0]) as answer:
            assert b"data-edgewise" in answer.read()
        running.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert running.wait(20) == 0
        assert running.stderr is not None
        assert running.stderr.read() == ""
        assert time.monotonic() - begun < 20
