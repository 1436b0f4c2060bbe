"""The page in a real browser, each of its faces: Debian's Chromium driven by Playwright; without it, skipped."""

import json
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from edgewise.records import cell, open_record, row
from edgewise.samples import shipped
from edgewise.views import Packing, scene, write_html
from edgewise.views.html import bundle
from edgewise.views.server import Page
from edgewise.views.serving import Serving

CHROMIUM = next((one for one in ("/usr/bin/chromium", "/usr/bin/google-chrome") if Path(one).is_file()), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
    # Playwright's own loop is closed when its process has gone already.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIZES = ((1280, 900), (390, 844))


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        how = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        found = running.chromium.launch(executable_path=CHROMIUM, args=how)
        yield found
        found.close()


@contextmanager
def opened(browser, address, size=SIZES[0], theme="light", path=None):
    """A page; anything on its console and any request that leaves this machine fails the test."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    said, asked = [], []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    page.close()
    assert not said, said
    assert all(re.match(r"(file|data|blob):|http://127\.0\.0\.1:", one) for one in asked), asked


@pytest.fixture(scope="module")
def sample():
    return open_record(shipped() / "trace.edgewise")


@pytest.fixture(scope="module")
def file(sample, tmp_path_factory):
    return write_html(sample, tmp_path_factory.mktemp("page") / "sample.html").as_uri()


@contextmanager
def served(seen, live=None):
    serving = Serving(Page(seen, live, token="secret"))
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield serving.address
    finally:
        serving.stop()
        thread.join(20)


def wait(page, condition, seconds=30):
    """Wait until an expression holds; the page's policy forbids what Playwright itself would evaluate."""
    until = time.time() + seconds
    while not page.evaluate(condition):
        assert time.time() < until, condition
        page.wait_for_timeout(30)


def drawn(page):
    wait(page, "document.querySelectorAll('.thumb[data-drawn=yes]').length > 3")


def go(page, **state):
    """Go where a link says."""
    page.evaluate("link => { location.hash = link; }", "&".join(f"{name}={value}" for name, value in state.items()))
    page.reload()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_file_shows_all_heads_one_head_a_row_and_a_cell(browser, file, sample, size, theme):
    with opened(browser, file, size, theme) as page:
        drawn(page)
        assert page.locator(".card").count() == 16
        page.locator(".card").nth(6).click()
        assert page.locator(".head").get_attribute("aria-label") == "blocks.1.attention, head 2"
        weights = row(sample.call("blocks.1.attention"), 0, 2, 91)
        page.locator(".bars li button").first.wait_for()
        best = int(page.locator(".bars .name small").first.inner_text())
        assert best == int(np.argmax(weights))
        page.get_by_role("tab", name="graph").click()
        page.locator(".arcs path").first.wait_for()
        page.get_by_role("tab", name="cell").click()
        page.locator("output[data-step=weight]").wait_for()
        # nothing is wider than the window
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def step(page, name):
    return float(page.locator(f"output[data-step={name}]").get_attribute("title").replace("−", "-").replace("∞", "inf"))


def test_the_numbers_on_screen_are_the_references(browser, file, sample):
    with opened(browser, file) as page:
        go(page, view="head", site="blocks.2.attention", head=1, query=40, key=17, side="cell")
        page.locator("output[data-step=weight]").wait_for()
        wanted = cell(sample.call("blocks.2.attention"), 0, 1, 40, 17)
        # The sample is kept in half precision, and so is the page: both compute in float64 from the same numbers.
        for name in ("raw", "scaled", "exp", "weight"):
            assert step(page, name) == pytest.approx(getattr(wanted, name), rel=1e-12), name


def test_the_future_has_no_edge_and_says_so(browser, file):
    with opened(browser, file) as page:
        go(page, view="head", site="blocks.0.attention", head=0, query=3, key=9, side="cell")
        page.locator("output[data-step=masked]").wait_for()
        assert page.locator("output[data-step=masked]").inner_text() == "= −∞"
        assert step(page, "weight") == 0


def test_keys_move_cell_by_cell_and_a_reload_restores_where_one_was(browser, file):
    with opened(browser, file) as page:
        go(page, view="head", site="blocks.3.attention", head=2, query=50, key=20, stage="scaled")
        matrix = page.get_by_role("application")
        matrix.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("+")
        wait(page, "location.hash.includes('rows=')")
        state = dict(one.split("=") for one in page.evaluate("location.hash").lstrip("#").split("&"))
        assert (state["query"], state["key"], state["stage"], state["head"]) == ("51", "31", "scaled", "2")
        before = page.evaluate("location.hash")
        page.reload()
        page.get_by_role("application").wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("location.hash") == before
        assert "Query 51" in page.get_by_role("application").get_attribute("aria-label")


def test_a_click_picks_the_cell_under_it_and_a_drag_moves(browser, file):
    with opened(browser, file) as page:
        go(page, view="head", site="blocks.1.attention", head=0)
        canvas = page.locator(".matrix canvas").first
        canvas.wait_for()
        page.wait_for_timeout(400)
        box = canvas.bounding_box()
        plot, margin = box["width"] - 76, 76
        x, y = box["x"] + margin + plot * 20.5 / 92, box["y"] + margin + plot * 40.5 / 92
        page.mouse.click(x, y)
        wait(page, "location.hash.includes('query=40') && location.hash.includes('key=20')")
        page.get_by_role("button", name="zoom in").first.click()
        wait(page, "location.hash.includes('rows=')")
        before = page.evaluate("location.hash")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 80, y - 80, steps=5)
        page.mouse.up()
        wait(page, f"location.hash !== {json.dumps(before)}")


def test_heads_are_ordered_by_what_they_do(browser, file, sample):
    with opened(browser, file) as page:
        drawn(page)
        page.get_by_label("order by").select_option("previous")
        names = page.locator(".card").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
        values = [float(one.rsplit(" ", 1)[1]) for one in names]
        assert values == sorted(values, reverse=True)
        assert names[0].startswith("blocks.0.attention, head 3")
        page.get_by_label("only sites with").fill("blocks.2")
        assert page.locator(".card").count() == 4


@pytest.mark.parametrize(
    ("kind", "starts"), [("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b',"T"'), ("NPY", b"\x93NUMPY")]
)
def test_a_head_is_saved_as(browser, file, sample, kind, starts, tmp_path):
    with opened(browser, file) as page:
        go(page, view="head", site="blocks.1.attention", head=3)
        page.get_by_role("button", name=kind).wait_for()
        with page.expect_download() as coming:
            page.get_by_role("button", name=kind).click()
        path = tmp_path / coming.value.suggested_filename
        coming.value.save_as(path)
        assert path.read_bytes().startswith(starts)
        if kind == "NPY":
            call = sample.call("blocks.1.attention")
            wanted = np.stack([row(call, 0, 3, query) for query in range(92)])
            np.testing.assert_allclose(np.load(path), wanted, atol=1e-6)


def test_a_text_that_is_a_program_is_a_text(browser, shown, tmp_path):
    address = write_html(shown, tmp_path / "evil.html").as_uri()
    with opened(browser, address) as page:
        drawn(page)
        assert page.locator("img").count() == 0
        assert "</script><img␣onerror=x>" in page.locator(".tokens").inner_text()


def test_switches_of_a_record_without_a_model_say_why(browser, file):
    with opened(browser, file) as page:
        go(page, view="head", side="lines")
        assert "Switches are unavailable: this is a record without its model" in page.locator(".side").inner_text()


def test_the_served_page_flips_a_switch_and_shows_what_it_costs(browser, sample):
    from edgewise.cli.live_shipped import ShippedLive
    from edgewise.views import Seen

    with served(Seen(sample), ShippedLive()) as address, opened(browser, address) as page:
        drawn(page)
        page.locator(".card").nth(6).click()
        page.get_by_role("tab", name="switches").click()
        page.get_by_role("switch", name="mask off, everywhere").check()
        page.locator("[data-loss=after]").wait_for(timeout=30_000)
        assert float(page.locator("[data-loss=after]").inner_text().split()[0]) > 0
        assert "4 lines are replaced" in page.locator(".status").inner_text()
        page.get_by_role("combobox", name="beside it").select_option("before")
        assert page.locator(".matrix").count() == 2
        page.reload()
        page.locator("[data-loss=after]").wait_for(timeout=30_000)
        page.get_by_role("button", name="undo").click()
        wait(page, "!document.querySelector('.changed')")


def test_the_served_page_reads_another_text_and_goes_on_from_it(browser, sample):
    from edgewise.cli.live_shipped import ShippedLive
    from edgewise.views import Seen

    with served(Seen(sample), ShippedLive()) as address, opened(browser, address) as page:
        drawn(page)
        page.get_by_role("button", name="your own text").click()
        page.get_by_role("textbox", name="your own text").fill("the name of ")
        page.get_by_label("and let it go on by").fill("5")
        page.get_by_role("button", name="look at it").click()
        wait(page, "document.querySelectorAll('.tokens button').length === 17")
        page.locator(".card").first.click()
        assert "of 5" in page.locator(".controls").inner_text()
        page.get_by_role("combobox", name="beside it").select_option("first")
        assert page.locator(".matrix").count() == 2
        assert "the first text" in page.locator(".beside").inner_text()
        page.get_by_role("tab", name="cell").click()
        page.get_by_text("M = W_q W_kᵀ of this head").click()
        page.locator(".product canvas").wait_for()
        assert "120 × 120 channels" in page.locator(".product").inner_text()


def test_the_served_page_shows_the_servers_numbers(browser, sample):
    from edgewise.views import Seen

    with served(Seen(sample)) as address, opened(browser, address) as page:
        go(page, view="head", site="blocks.2.attention", head=1, query=40, key=17, side="cell")
        page.locator("output[data-step=weight]").wait_for()
        wanted = cell(sample.call("blocks.2.attention"), 0, 1, 40, 17)
        assert step(page, "weight") == wanted.weight
        assert step(page, "raw") == wanted.raw


def test_a_notebook_draws_the_same_page_and_undoes_it(browser, sample, tmp_path):
    packing = Packing(sample.calls)
    held = {"scene": scene(sample), "packed": packing.index, "bytes": list(packing.bytes())}
    program = json.dumps(bundle()).replace("</", "<" + chr(92) + "/")
    (tmp_path / "notebook.html").write_text(
        f"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><div id="cell"></div>
        <script id="held" type="application/json">{json.dumps(held).replace("<", chr(92) + "u003c")}</script>
        <script type="module">
        const held = JSON.parse(document.getElementById("held").textContent);
        held.bytes = new DataView(Uint8Array.from(held.bytes).buffer);
        const url = URL.createObjectURL(new Blob([{program}], {{type: "text/javascript"}}));
        const widget = (await import(url)).default;
        window.undo = widget.render({{model: {{get: (name) => held[name]}}, el: document.getElementById("cell")}});
        </script>"""
    )
    with opened(browser, (tmp_path / "notebook.html").as_uri()) as page:
        drawn(page)
        assert page.locator(".card").count() == 16
        assert "#" not in page.url
        page.evaluate("window.undo()")
        assert page.locator("#cell > *").count() == 0


def test_a_record_from_a_newer_version_says_so(browser, sample, tmp_path):
    address = write_html(sample, tmp_path / "new.html")
    address.write_bytes(address.read_bytes().replace(b'"scene": {"scene": 1', b'"scene": {"scene": 9'))
    with opened(browser, address.as_uri()) as page:
        assert "was made by a newer edgewise" in page.locator(".edgewise").inner_text()
