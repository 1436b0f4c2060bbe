"""The page against BertViz's: size and seconds of a file with 144 heads, and how the page answers while one looks.

Run: python bench/view.py --bertviz SITE   (SITE: a folder that `pip install --target` has put bertviz into; without it
our own side alone is measured). Needs Chromium for what is seen. Nothing is asserted; figures go to bench/view.json.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.graphs import causal
from edgewise.records import Array, Call, Record, Site, open_record
from edgewise.samples import shipped
from edgewise.views import Seen, write_html
from edgewise.views.server import Page
from edgewise.views.serving import Serving
from record import write

LAYERS, HEADS, WIDTH = 12, 12, 64
CHROMIUM = "/usr/bin/chromium"


def recorded(tokens: int, layers: int = LAYERS, heads: int = HEADS) -> Record:
    """Return a record of random numbers at the shape of GPT-2 small."""
    draw = np.random.default_rng(0)

    def array() -> Array:
        return Array.of(draw.standard_normal((1, heads, tokens, WIDTH), dtype=np.float32))

    calls = [
        Call(
            Site(f"h.{layer}.attn", layer, "self", heads, heads, WIDTH),
            *(0, "bench", array(), array(), array(), array(), WIDTH**-0.5),
            graph=causal(),
        )
        for layer in range(layers)
    ]
    return Record(tuple(calls), tokens=(tuple(f"t{at % 50}" for at in range(tokens)),), target="random, 12 × 12 heads")


def ours(tokens: int, path: Path) -> float:
    """Write our file and return the seconds."""
    record = recorded(tokens)
    begun = time.perf_counter()
    write_html(record, path)
    return time.perf_counter() - begun


def bertviz(tokens: int, path: Path) -> float:
    """Write BertViz's file of as many weights and return the seconds."""
    import torch
    from bertviz import head_view  # pyright: ignore

    weights = [torch.rand(1, HEADS, tokens, tokens).tril().softmax(-1) for _ in range(LAYERS)]
    begun = time.perf_counter()
    page = head_view(weights, [f"t{at % 50}" for at in range(tokens)], html_action="return")
    path.write_text(page.data)
    return time.perf_counter() - begun


def alone(who: str, tokens: int, path: Path, site: str | None = None) -> dict[str, float]:
    """Return seconds, megabytes and peak memory of one writer in a process of its own."""
    folders = [str(Path(__file__).parent), *([site] if site else [])]
    code = (
        "import json, resource, sys; from pathlib import Path; import view; "
        f"seconds = view.{who}({tokens}, Path(sys.argv[1])); "
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; print(json.dumps([seconds, peak / 1024]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", code, path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return {"seconds": seconds, "megabytes": path.stat().st_size / 1e6, "peak": peak}


def files(site: str | None, rounds: int, folder: Path, browser: Any) -> dict[str, Any]:
    """Return the table of files."""
    rows: list[list[Any]] = []
    for tokens in (128, 512):
        path = folder / f"ours-{tokens}.html"
        mine = [alone("ours", tokens, path) for _ in range(rounds)]
        theirs = (
            [alone("bertviz", tokens, folder / "other.html", site) for _ in range(1 if tokens > 128 else rounds)]
            if site
            else []
        )
        (folder / "other.html").unlink(missing_ok=True)
        paint = statistics.median(first_paint(browser, path.as_uri()) for _ in range(3))
        for name, found in (("edgewise", mine), ("BertViz 1.4.1", theirs)):
            if found:
                middle = {key: statistics.median(one[key] for one in found) for key in found[0]}
                ratio = middle["seconds"] / statistics.median(one["seconds"] for one in mine)
                seconds, megabytes, peak = middle["seconds"], middle["megabytes"], middle["peak"]
                told = [round(seconds, 3), round(megabytes, 2), round(peak), round(ratio, 1)]
                rows.append([tokens, name, *told, round(paint) if name == "edgewise" else "–"])
    columns = ["tokens", "page", "seconds", "megabytes", "peak memory, MB", "time against ours", "first paint, ms"]
    return {"title": "One file with 144 heads", "columns": columns, "rows": rows}


def first_paint(browser: Any, address: str) -> float:
    """Return the milliseconds until something is seen."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.locator(".edgewise h1").wait_for()
    found = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
    page.close()
    return float(found)


class Served:
    """A page while it is served."""

    def __init__(self, seen: Seen, live: Any = None) -> None:
        self._serving = Serving(Page(seen, live, token="bench"))
        self._thread = threading.Thread(target=self._serving.run)

    def __enter__(self) -> str:
        """Return its address."""
        self._thread.start()
        return self._serving.address

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._serving.stop()
        self._thread.join()


def asked(page: Any, path: str, times: int) -> list[float]:
    """Return milliseconds of answers as the page itself gets them; {n} in the path is another number each time."""
    return page.evaluate(
        """async ([path, times, token]) => {
            const taken = [];
            for (let at = 0; at < times; at++) {
                const begun = performance.now();
                const answer = await fetch(path.replaceAll("{n}", at), { headers: { "x-edgewise-token": token } });
                await answer.arrayBuffer();
                taken.push(performance.now() - begun);
            }
            return taken;
        }""",
        [path, times, "bench"],
    )


def looking(browser: Any) -> dict[str, Any]:
    """Return the table of what is waited for while one looks."""
    rows: list[list[Any]] = []
    for tokens in (4096, 32768):
        record = recorded(tokens, layers=1)
        with Served(Seen(record)) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address + "#view=ladder")  # where no small pictures of other heads are asked for meanwhile
            page.locator(".edgewise h1").wait_for()
            whole = f"/api/tile?site=h.0.attn&head=0&stage=weights&rows=0:{tokens}&keys=0:{tokens}&shape=512,512"
            rows.append([f"first picture of a head, {tokens:,} tokens", 1, round(asked(page, whole, 1)[0])])
            draw = random.Random(0)
            taken: list[float] = []
            for _ in range(30):
                size = draw.choice([256, 512, 1024, tokens // 2])
                top, left = draw.randrange(tokens - size), draw.randrange(tokens - size)
                tile = f"/api/tile?site=h.0.attn&head=0&stage=weights&rows={top}:{top + size}&keys={left}:{left + size}"
                taken += asked(page, tile + "&shape=256,256", 1)
            rows.append([f"a tile after that, {tokens:,} tokens", 30, round(statistics.median(taken), 1)])
            cells = asked(page, f"/api/cell?site=h.0.attn&head=0&query={tokens - 1}&key={{n}}", 30)
            rows.append([f"a cell's arithmetic, {tokens:,} tokens", 30, round(statistics.median(cells), 1)])
            rows.append([f"page memory after a walk, {tokens:,} tokens (MB)", 1, round(walked(page))])
            page.close()
    return {"title": "While one looks", "columns": ["what", "times", "median, ms"], "rows": rows}


def walked(page: Any) -> float:
    """Return megabytes of the page's heap after zooming and panning through a head."""
    page.evaluate("location.hash = 'view=head'")
    page.reload()
    matrix = page.get_by_role("application")
    matrix.focus()
    page.wait_for_timeout(3000)
    for _ in range(6):
        page.keyboard.press("+")
        page.wait_for_timeout(150)
    for _ in range(20):
        page.keyboard.press("Shift+ArrowUp")
        page.keyboard.press("Shift+ArrowRight")
        page.wait_for_timeout(50)
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    metrics = {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6


def switching(browser: Any) -> dict[str, Any]:
    """Return the table of the shipped page: its first paint, a switch, and frames while a head is dragged."""
    from edgewise.cli.live_shipped import ShippedLive

    rows: list[list[Any]] = []
    with Served(Seen(open_record(shipped() / "trace.edgewise")), ShippedLive()) as address:
        paints = [first_paint(browser, address) for _ in range(5)]
        rows.append(["first paint of the shipped page, ms", 5, round(statistics.median(paints))])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address + "#view=head&side=lines&site=blocks.1.attention")
        box = page.get_by_role("switch", name="scores → 0, this site")
        box.wait_for()
        taken: list[float] = []
        for turn in range(11):
            taken.append(page.evaluate(SWITCHED, "scores → 0, this site"))
            page.get_by_role("button", name="undo").click()
            page.wait_for_timeout(200)
            if turn == 0:
                taken.clear()  # the first loads torch
        rows.append(["a switch, from click to new numbers, ms", 10, round(statistics.median(taken))])
        rows.append(["frames a second while a head is dragged", 1, round(dragged(page))])
        page.close()
    return {"title": "The shipped page", "columns": ["what", "times", "median"], "rows": rows}


SWITCHED = """async (name) => {
    const before = document.querySelector("[data-loss=after]")?.textContent;
    const box = [...document.querySelectorAll("[role=switch]")].find((one) => one.getAttribute("aria-label") === name);
    const begun = performance.now();
    box.click();
    const same = () => document.querySelector("[data-loss=after]")?.textContent === before;
    while (same()) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""


def dragged(page: Any) -> float:
    """Return frames a second while the matrix is dragged."""
    page.get_by_role("button", name="zoom in").first.click()
    box = page.locator(".matrix canvas").first.bounding_box()
    page.evaluate(
        """() => { window.frames_seen = []; const see = (at) => { window.frames_seen.push(at);
        window.seeing = requestAnimationFrame(see); }; window.seeing = requestAnimationFrame(see); }"""
    )
    x, y = box["x"] + 400, box["y"] + 300
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(120):
        page.mouse.move(x - (step % 60) * 3, y - (step % 60) * 2)
        page.wait_for_timeout(8)
    page.mouse.up()
    seen = page.evaluate("() => { cancelAnimationFrame(window.seeing); return window.frames_seen; }")
    gaps = np.diff(seen)
    return float(1000 / np.median(gaps))


def main() -> None:
    """Measure, print and write."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bertviz", metavar="SITE", help="a folder that holds bertviz")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        tables = [
            files(arguments.bertviz, arguments.rounds, Path(folder), browser),
            switching(browser),
            looking(browser),
        ]
        browser.close()
    notes = [
        "BertViz writes every weight as text; our file holds queries, keys and values in half precision, and the page "
        "computes every stage from them. BertViz's page asks a CDN for its program: it has no first paint here.",
        "Tiles are asked for by the page itself, over HTTP on this machine; a first picture computes the whole head.",
    ]
    write(__file__, "The page", 2, tables, notes, {})


if __name__ == "__main__":
    main()
