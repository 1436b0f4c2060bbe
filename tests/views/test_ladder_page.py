"""The ladder's pages in a real browser: from a file, and from a server that trains."""

import re
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgewise.cli.live_record import RecordLive
from edgewise.ladder import RUNGS
from edgewise.records import open_record
from edgewise.samples import shipped
from edgewise.views import Seen, write_html
from edgewise.views.server import Page
from edgewise.views.serving import Serving

CHROMIUM = next((one for one in ("/usr/bin/chromium", "/usr/bin/google-chrome") if Path(one).is_file()), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@contextmanager
def opened(browser, address, rung, size=(1280, 900), theme="light"):
    """The page of a rung; a word on its console or a request that leaves this machine fails the test."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion="reduce")
    said, asked = [], []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}#view=ladder&rung={rung}")
    page.locator(".ladder").wait_for()
    yield page
    page.close()
    assert not said, said
    assert all(re.match(r"(file|data|blob):|http://127\.0\.0\.1:", one) for one in asked), asked


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    record = open_record(shipped() / "trace.edgewise")
    return write_html(record, tmp_path_factory.mktemp("ladder") / "sample.html").as_uri()


@pytest.fixture
def address(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # the prose of Python, not what lies in a cache
    serving = Serving(Page(Seen(open_record(shipped() / "trace.edgewise")), RecordLive()))
    thread = threading.Thread(target=serving.run)
    thread.start()
    yield serving.address
    serving.stop()
    thread.join(20)


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_every_rung_has_a_page_that_fits(browser, file, width, theme):
    with opened(browser, file, RUNGS[0].name, (width, 900), theme) as page:
        for number, one in enumerate(RUNGS):
            assert page.locator("article h2").inner_text().split()[0] == one.name
            assert page.locator(".says").inner_text() == one.says
            assert page.locator(".code ins, .code del").count() > 0 or one.follows is None
            assert page.evaluate("document.documentElement.scrollWidth") <= width, one.name
            if number < len(RUNGS) - 1:
                page.locator(".steps button").last.click()
        page.reload()
        assert page.locator("article h2").inner_text().startswith("gpt")


def test_the_head_worked_out_by_hand_follows_what_is_typed_and_drawn(browser, file):
    with opened(browser, file, "values") as page:
        home = page.locator(".told li").last.locator("b")
        assert home.inner_text() == "[8.87, 1.13]"
        assert "u looks at h: 2·2 + 0.5·0 = 4; h looks at u: 1" in page.locator(".told").inner_text()
        edge = page.locator('[data-edge="2,0"]')
        edge.click()
        assert edge.get_attribute("aria-pressed") == "false"
        assert "u may not read h" in page.locator(".told").inner_text()
        assert home.inner_text() == "[4.4, 5.6]"
        page.get_by_role("button", name="as it was").click()
        cell = page.get_by_label("W key, channel 0, h", exact=True)
        cell.fill("0")
        cell.press("ArrowDown")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "W key, channel 1, h"
        assert "u looks at h: 2·0 + 0.5·0 = 0" in page.locator(".told").inner_text()


def test_a_mask_is_drawn_by_dragging(browser, file):
    with opened(browser, file, "softmax") as page:
        mask = page.locator(".edges").nth(1)
        mask.scroll_into_view_if_needed()

        def middle(cell):
            box = mask.locator(f'[data-edge="{cell}"]').bounding_box()
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

        page.mouse.move(*middle("0,1"))
        page.mouse.down()
        for cell in ("0,2", "1,2"):
            page.mouse.move(*middle(cell), steps=4)
        page.mouse.up()
        pressed = [one.get_attribute("aria-pressed") for one in mask.locator("button").all()]
        assert pressed == ["true"] * 9
        assert page.locator(".experiment table").last.inner_text().count("4.67") == 3


def test_the_draws_end_at_their_variances(browser, file):
    with opened(browser, file, "scale") as page:
        page.get_by_text("20,000 of 20,000 draws of each width").wait_for()
        for width in (4, 16, 64, 256):
            assert float(page.locator(f"[data-variance='{width}']").inner_text()) == pytest.approx(width, rel=0.05)
            assert float(page.locator(f"[data-scaled='{width}']").inner_text()) == pytest.approx(1, abs=0.05)


def test_a_file_says_why_it_trains_nothing(browser, file):
    with opened(browser, file, "gpt") as page:
        said = page.get_by_label("train it now").inner_text()
        assert "Training is unavailable: nothing can be trained from here" in said


def test_a_rung_is_trained_from_the_page_found_again_after_a_reload_and_stopped(browser, address):
    with opened(browser, address, "scale") as page:
        page.locator("form input[type=number]").last.fill("20000")
        page.get_by_role("button", name="train scale now").click()
        page.locator("[data-training=running] .looks canvas").wait_for(timeout=60_000)
        page.reload()
        running = page.locator("[data-training=running]")
        running.wait_for()
        assert "of 20,000" in running.locator("[role=status]").inner_text()
        assert "it learns python-topics" in running.locator("[role=status]").inner_text()
        page.get_by_role("button", name="stop").click()
        page.locator("[data-training=stopped]").wait_for(timeout=5000)
        page.locator(".looks").scroll_into_view_if_needed()
        page.locator(".thumb[data-drawn=yes]").wait_for()
