import http.client
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest

from edgewise.errors import ArgumentError, RunError
from edgewise.graphs import causal
from edgewise.records import Array, Call, Record, Site, cell, overview, row, tile
from edgewise.views import Can, Output, Seen, Trained
from edgewise.views.server import Page
from edgewise.views.serving import Serving


@contextmanager
def served(seen, live=None):
    serving = Serving(Page(seen, live, token="secret"))
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield int(urlsplit(serving.address).port)
    finally:
        serving.stop()
        thread.join(10)
        assert not thread.is_alive()


def ask(port, path, body=None, **headers):
    """Status, headers and body of a request that the page itself might make."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    known = {"x-edgewise-token": "secret"} | {name.replace("_", "-"): value for name, value in headers.items()}
    known = {name: value for name, value in known.items() if value is not None}
    link.request("GET" if body is None else "POST", path, body, known)
    answer = link.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    link.close()
    return found


def numbers_of(answer):
    head, _, _ = answer[2].partition(b"\n")
    about = json.loads(head)
    count = about["shape"][0] * about["shape"][1]
    assert (len(head) + 1) % 4 == 0
    return about, np.frombuffer(answer[2][len(head) + 1 :], "<f4", count * 2).reshape(2, *about["shape"])


@pytest.fixture
def port(shown):
    with served(Seen(shown)) as port:
        yield port


AT = {"site": "h.1.attn", "call": 0, "head": 2, "batch": 0}


def test_a_tile_is_that_of_the_record(port, shown):
    asked = AT | {"stage": "weights", "rows": "0:12", "keys": "0:12", "shape": "6,6"}
    about, (largest, mean) = numbers_of(ask(port, f"/api/tile?{urlencode(asked)}"))
    wanted = overview(shown.calls[1], 2, shape=(6, 6))
    assert about["step"] == [2, 2]
    np.testing.assert_array_equal(largest, wanted.max)
    np.testing.assert_array_equal(mean, wanted.mean)


def test_scores_are_shown_before_the_mask_hides_any(port, shown):
    asked = AT | {"rows": "0:12", "keys": "0:12", "shape": "12,12"}
    for stage, edges in (("raw", 144), ("scaled", 144), ("masked", 78), ("weights", 78)):
        answer = ask(port, f"/api/tile?{urlencode(asked | {'stage': stage})}")
        _, (largest, _) = numbers_of(answer)
        assert np.frombuffer(answer[2][-4 * 144 :], "<i4").sum() == edges
        if stage == "raw":
            np.testing.assert_allclose(largest, tile(shown.calls[1], 0, 2, stage="raw"), rtol=1e-5)


def test_rows_columns_and_cells_are_those_of_the_record(port, shown):
    call = shown.calls[1]
    found = ask(port, f"/api/row?{urlencode(AT | {'query': 5, 'stage': 'masked'})}")[2]
    np.testing.assert_array_equal(np.frombuffer(found, "<f4"), row(call, 0, 2, 5, "masked"))
    found = ask(port, f"/api/column?{urlencode(AT | {'key': 3, 'stage': 'weights'})}")[2]
    np.testing.assert_allclose(np.frombuffer(found, "<f4"), tile(call, 0, 2)[:, 3], rtol=1e-6)
    found = json.loads(ask(port, f"/api/cell?{urlencode(AT | {'query': 5, 'key': 3})}")[2])
    wanted = cell(call, 0, 2, 5, 3)
    assert found["weight"] == wanted.weight
    assert found["terms"] == wanted.terms.tolist()


def test_the_page_carries_its_scene_and_loads_nothing_from_elsewhere(port):
    status, headers, body = ask(port, "/?token=secret")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert b"</script><img" not in body
    assert b"http://" not in body


@pytest.mark.parametrize(
    ("path", "headers", "said"),
    [
        ("/api/scene", {"x_edgewise_token": "wrong"}, "wanted the token of this start"),
        ("/api/scene", {"x_edgewise_token": None}, "wanted the token of this start"),
        ("/", {}, "wanted the token of this start"),
        ("/?token=wrong", {}, "wanted the token of this start"),
        ("/api/scene", {"host": "evil.example"}, "answers as localhost alone; asked as 'evil.example'"),
        ("/api/scene", {"origin": "http://evil.example"}, "answers its own page alone"),
        ("/api/scene", {"sec_fetch_site": "cross-site"}, "answers its own page alone"),
    ],
)
def test_whoever_is_not_the_page_is_refused(port, path, headers, said):
    status, _, body = ask(port, path, **headers)
    assert status == 403
    assert said in json.loads(body)["error"]


def test_a_request_that_is_too_large_is_refused(port):
    status, _, body = ask(port, "/api/swap", b"x" * (1 << 20) + b"x")
    assert status == 413
    assert json.loads(body)["error"] == "a request has at most 1,048,576 bytes, told in advance"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("tile?site=nothing", "wanted a site of the record; got 'nothing'"),
        ("row?site=h.1.attn&head=9", "head must be from 0 to 3 at h.1.attn; got 9"),
        ("row?site=h.1.attn&head=x", 'head must be a whole number; got "x"'),
        ("row?site=h.1.attn&query=12", "query must be from 0 to 11"),
        ("row?site=h.1.attn&stage=nice", 'stage must be one of raw, scaled, masked, weights; got "nice"'),
        ("column?site=h.1.attn&key=99", "key must be from 0 to 11"),
        ("tile?site=h.1.attn&head=0&rows=5&keys=0:3&shape=4,4", 'rows must be start:stop, like 0:512; got "5"'),
        ("tile?site=h.1.attn&head=0&rows=0:5&keys=0:3&shape=4", "shape must be two numbers from 1 to 1024"),
        ("tile?site=h.1.attn&head=0&rows=5:5&keys=0:3&shape=4,4", "a picture wants a row, a key and a pixel at least"),
        ("nothing", "there is no GET nothing here"),
    ],
)
def test_every_mistake_is_a_sentence(port, path, said):
    status, _, body = ask(port, f"/api/{path}")
    assert status == 400
    assert said in json.loads(body)["error"]


def test_what_needs_a_model_says_so(port):
    status, _, body = ask(port, "/api/swap", b'{"switches": []}')
    assert (status, json.loads(body)["error"]) == (
        400,
        "this is a record without its model: open the model itself to change it",
    )


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_a_sentence(port, body):
    status, _, said = ask(port, "/api/swap", body)
    assert status == 400
    assert "wanted a JSON object in the body" in json.loads(said)["error"]


class Model:
    """A live model that does what it is told, slowly where asked to."""

    can = Can()

    def __init__(self, record):
        self.record, self.stopped, self.began = record, threading.Event(), threading.Event()

    def swapped(self, seen, switches, stop):
        if switches and switches[0].line == "out=mean":
            raise ValueError("the model does not like <this>")
        return Seen(self.record, Output(((" x", 0.5),), float(len(switches))))

    def read(self, text, generate, stop):
        self.began.set()
        while text == "for ever" and not stop():
            time.sleep(0.01)
        self.stopped.set()
        return Seen(self.record)

    def product(self, seen, site, head):
        return np.full((3, 3), head, np.float32)

    def train(self, rung, steps, stop):
        if rung == "broken":
            raise RuntimeError("no such rung")
        for step in range(steps):
            time.sleep(0.01)
            yield Trained(step, steps, 4.0 - step / steps, seen=Seen(self.record) if step == 1 else None)
            if stop():
                return


@pytest.fixture
def live(shown):
    model = Model(shown)
    with served(Seen(shown), model) as port:
        yield port, model


def test_a_swapped_run_is_held_and_asked_for_by_its_name(live):
    port, _ = live
    body = json.dumps({"switches": [{"site": "h.0.attn", "heads": [1], "line": "scores=zeros"}]})
    made = json.loads(ask(port, "/api/swap", body)[2])
    assert made["scene"]["output"]["loss"] == 1.0
    found = ask(port, f"/api/row?{urlencode(AT | {'query': 5})}", x_edgewise_run=made["run"])
    assert found[0] == 200
    lost = ask(port, "/api/scene", x_edgewise_run="nothing")
    assert "no longer held by the server" in json.loads(lost[2])["error"]


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ({"site": "h.0.attn", "line": "nothing"}, "a switch has a line, one of scores=zeros, mask=none"),
        ({"site": "nowhere", "line": "mask=none"}, 'a switch names a site of the record; got "nowhere"'),
        ({"site": "h.0.attn", "line": "mask=none", "heads": [4]}, "heads of h.0.attn are numbers from 0 to 3; got [4]"),
        ("mask=none", "a switch has a line"),
    ],
)
def test_a_switch_that_switches_nothing_is_a_sentence(live, switch, said):
    status, _, body = ask(live[0], "/api/swap", json.dumps({"switches": [switch]}))
    assert status == 400
    assert said in json.loads(body)["error"]


def test_the_product_of_the_weights_is_the_models(live):
    found = ask(live[0], "/api/product?site=h.1.attn&head=2")
    np.testing.assert_array_equal(np.frombuffer(found[2], "<f4"), np.full(9, 2))
    status, _, said = ask(live[0], "/api/product?site=h.1.attn&head=4")
    assert (status, json.loads(said)["error"]) == (400, "head must be from 0 to 3 at h.1.attn; got 4")


def test_a_model_that_raises_is_told_and_the_server_goes_on(live, capfd):
    body = json.dumps({"switches": [{"site": "h.0.attn", "line": "out=mean"}]})
    status, _, said = ask(live[0], "/api/swap", body)
    assert (status, json.loads(said)["error"]) == (500, "ValueError: the model does not like <this>")
    assert ask(live[0], "/api/scene")[0] == 200
    assert "edgewise view: swap: ValueError" in capfd.readouterr().err


def test_work_that_nobody_waits_for_is_stopped(live):
    port, model = live
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    link.request("POST", "/api/read", json.dumps({"text": "for ever"}), {"x-edgewise-token": "secret"})
    assert model.began.wait(5)
    link.close()
    assert model.stopped.wait(5)
    assert ask(port, "/api/scene")[0] == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"text": ""}, 'text must be a text that is not empty; got ""'),
        ({"text": 5}, "text must be a text that is not empty; got 5"),
        ({"text": "a" * 200_001}, "text has at most 200,000 characters here; got 200,001"),
        ({"text": "a", "generate": 5000}, "generate is a number of tokens up to 1,000; got 5000"),
        ({"text": "a", "generate": 1.5}, "generate must be a whole number; got 1.5"),
    ],
)
def test_a_text_that_cannot_be_read_is_a_sentence(live, body, said):
    status, _, answer = ask(live[0], "/api/read", json.dumps(body))
    assert status == 400
    assert said in json.loads(answer)["error"]


def told(port, **asked):
    return json.loads(ask(port, f"/api/training?{urlencode(asked)}")[2])


def test_a_training_goes_on_whoever_looks_and_can_be_stopped(live):
    port, _ = live
    began = json.loads(ask(port, "/api/train", json.dumps({"rung": "gpt", "steps": 20_000}))[2])
    again = json.loads(ask(port, "/api/train", json.dumps({"rung": "gpt", "steps": 5}))[2])
    assert "a training is running already" in again["error"]
    until = time.time() + 10
    while len(told(port, id=began["id"])["told"]) < 3 and time.time() < until:
        time.sleep(0.02)
    now = told(port, id=began["id"], since=1)
    assert now["told"][0]["step"] == 1
    assert now["told"][0]["scene"]["scene"] == 1
    assert [one["state"] for one in told(port)] == ["running"]
    ask(port, "/api/train", json.dumps({"stop": began["id"]}))
    while told(port)[0]["state"] == "running" and time.time() < until:
        time.sleep(0.02)
    assert told(port)[0]["state"] == "stopped"


def test_a_training_that_fails_says_why(live):
    port, _ = live
    began = json.loads(ask(port, "/api/train", json.dumps({"rung": "broken", "steps": 5}))[2])
    until = time.time() + 10
    while told(port)[0]["state"] == "running" and time.time() < until:
        time.sleep(0.02)
    now = told(port, id=began["id"])
    assert (now["state"], now["why"]) == ("failed", "RuntimeError: no such rung")
    wrong = json.loads(ask(port, "/api/train", json.dumps({"rung": "gpt", "steps": 0}))[2])
    assert wrong["error"] == "steps must be from 1 to 20,000; got 0"


def test_fifty_tiles_at_once_of_sixteen_thousand_tokens(capfd):
    tokens, random = 16_384, np.random.default_rng(0)
    arrays = [Array.of(random.standard_normal((1, 2, tokens, 16)).astype(np.float16)) for _ in range(4)]
    call = Call(Site("long", 0, "self", 2, 2, 16), 0, "x", *arrays, 0.25, graph=causal())
    with served(Seen(Record((call,)))) as port:
        answers = [None] * 50

        def one(number):
            start = number * 300
            asked = {"site": "long", "head": number % 2, "stage": "weights"}
            asked |= {"rows": f"{start}:{start + 256}", "keys": f"{start}:{start + 256}", "shape": "64,64"}
            answers[number] = ask(port, f"/api/tile?{urlencode(asked)}")[0]

        threads = [threading.Thread(target=one, args=(number,)) for number in range(50)]
        [thread.start() for thread in threads]
        [thread.join(60) for thread in threads]
    assert answers == [200] * 50
    assert capfd.readouterr().err == ""


def test_another_run_stands_beside_it(shown, calls):
    other = Seen(Record(calls[:1], target="another"))
    page = Page(Seen(shown), token="secret", other=other)
    serving = Serving(page)
    thread = threading.Thread(target=serving.run)
    thread.start()
    port = int(urlsplit(serving.address).port)
    try:
        body = ask(port, "/?token=secret")[2]
        assert b'"other": {"run": "other", "scene"' in body
        assert json.loads(ask(port, "/api/scene", x_edgewise_run="other")[2])["target"] == "another"
    finally:
        serving.stop()
        thread.join(10)


def test_a_port_that_is_taken_is_a_sentence(shown, port):
    with pytest.raises(RunError, match=rf"port {port} cannot be used \(Address already in use\)"):
        Serving(Page(Seen(shown)), port)


def test_a_run_that_is_asked_for_too_late_is_a_sentence(shown):
    from edgewise.views.runs import Runs

    runs = Runs(Seen(shown))
    names = [runs.add(Seen(shown)) for _ in range(13)]
    assert runs[names[-1]].record is shown
    with pytest.raises(ArgumentError, match="no longer held by the server"):
        runs[names[0]]
