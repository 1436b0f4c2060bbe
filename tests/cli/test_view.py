import json
import signal
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlsplit

import pytest

from edgewise.cli.live_record import RecordLive
from edgewise.cli.live_shipped import ShippedLive
from edgewise.cli.live_training import Training
from edgewise.cli.main import main
from edgewise.errors import ArgumentError
from edgewise.samples import shipped
from edgewise.views import NONE

RUN = """
import sys
from edgewise.cli.main import main
status = main(["view", "--no-open"])
print("status", status, "loaded", [one for one in ("torch", "transformers", "edgewise.ladder") if one in sys.modules])
"""


def opened():
    """Seconds to the page that `edgewise view` opens, what it says, and what it prints at its end."""
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True) as running:
        address = running.stdout.readline().removeprefix("edgewise view: ").strip()
        with urllib.request.urlopen(address) as answer:
            page = answer.read().decode()
        seconds = time.perf_counter() - began
        token = address.partition("token=")[2]
        request = urllib.request.Request(
            f"http://{urlsplit(address).netloc}/api/scene", headers={"x-edgewise-token": token}
        )
        with urllib.request.urlopen(request) as answer:
            scene = json.load(answer)
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
    return seconds, page, scene, rest


def test_view_alone_opens_the_shipped_sample_in_two_seconds_and_without_torch():
    # Others may be at work on this machine: the best of three is what the program takes.
    for _ in range(3):
        seconds, page, scene, rest = opened()
        assert "data-edgewise" in page
        assert scene["sites"]
        assert scene["live"] == {"swap": "", "text": "", "generate": "", "train": ""}
        assert rest.splitlines()[-1] == "status 0 loaded []"
        if seconds < 2:
            break
    assert seconds < 2


def test_a_record_is_written_as_one_file(tmp_path, capsys):
    path = tmp_path / "run.html"
    assert main(["view", str(shipped() / "trace.edgewise"), "--html", str(path)]) == 0
    assert path.read_bytes().startswith(b"<!doctype html>")
    assert capsys.readouterr().out.startswith(f"wrote {path}, ")


def test_a_record_is_printed(capsys):
    assert main(["view", str(shipped() / "trace.edgewise"), "--print"]) == 0
    assert "head" in capsys.readouterr().out


def test_a_port_that_is_none_is_a_sentence(capsys):
    assert main(["view", "--port", "70000"]) == 2
    assert "--port is a number from 0 to 65535; got 70000" in capsys.readouterr().err


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def never():
    return False


def test_a_rung_is_trained_from_the_page_and_its_attention_seen(offline):
    told = list(Training().train("scale", 9, never))
    assert [one.step for one in told] == list(range(10))
    assert told[-1].loss < told[0].loss
    assert all(one.text == "python-topics" for one in told)
    call = told[-1].seen.record.calls[0]
    assert (call.site.heads, call.rows, repr(call.graph)) == (1, 8, "causal()")
    assert told[-1].seen.record.target == "scale after 9 steps"
    assert len(told[-1].sample) == 68


def test_a_rung_in_which_no_query_meets_a_key_has_no_attention_to_see(offline):
    assert all(one.seen is None for one in Training().train("positions", 2, never))


@pytest.mark.parametrize("live", [RecordLive(), ShippedLive()])
def test_pages_of_records_and_of_the_sample_train_too(live, offline):
    assert live.can.train == ""
    assert [one.step for one in live.train("bigram", 1, never)] == [0, 1]


def test_a_record_says_that_its_model_is_not_there():
    with pytest.raises(ArgumentError, match=r"^this is a record without its model"):
        RecordLive().swapped(None, [], never)
    with pytest.raises(ArgumentError, match=r"^this is a record without its model"):
        RecordLive().read("a", 0, never)
    assert NONE.train == "nothing can be trained from here: run edgewise view and train from the page that it opens"


def test_a_training_stops_within_a_fraction_of_a_second(offline):
    stopped = []
    for one in Training().train("loop", 20_000, lambda: bool(stopped)):
        if one.step == 0:
            stopped.append(time.perf_counter())
    assert time.perf_counter() - stopped[0] < 1
