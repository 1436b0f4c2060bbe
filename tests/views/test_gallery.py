"""Every mark of the page in every state, in a real browser: each is drawn, in both themes, and fits a phone."""

import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = next((one for one in ("/usr/bin/chromium", "/usr/bin/google-chrome") if Path(one).is_file()), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
    pytest.mark.skipif(not (ROOT / "web" / "node_modules").is_dir(), reason="the page is not built here"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    command = [sys.executable, "hatch_build.py", "npm", "run", "gallery:build"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    handler = functools.partial(Quiet, directory=ROOT / "web" / "gallery" / "dist")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_state_is_drawn_and_fits(address, theme, width):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        page.locator("[data-state]").first.wait_for()
        for state in page.locator("[data-state]").all():
            state.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        empty = page.evaluate(
            """() => [...document.querySelectorAll("[data-state]")].filter((state) => {
                const canvas = state.querySelector("canvas");
                if (canvas === null) return state.textContent.trim().length < 20;
                const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                return new Set(new Uint32Array(pixels.buffer)).size < 3;
            }).map((state) => state.dataset.state)"""
        )
        wide = page.evaluate("document.documentElement.scrollWidth")
        browser.close()
    assert empty == []
    assert said == []
    assert wide <= width
