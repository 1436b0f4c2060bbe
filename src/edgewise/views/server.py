"""The server behind the page: small answers about one run, and whatever else the model at hand can be asked.

It answers on this machine alone. Numbers are computed when they are asked for, two at a time, and what nobody waits for
any more is not begun.
"""

import asyncio
import json
import secrets
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from edgewise.errors import ArgumentError, EdgewiseError
from edgewise.records import cell, row, tile
from edgewise.views import asked
from edgewise.views.answers import arithmetic, numbers, picture, said
from edgewise.views.guard import Guard
from edgewise.views.html import bundle
from edgewise.views.live import NONE, Live, Seen
from edgewise.views.pictures import Pictures
from edgewise.views.runs import OTHER, Runs
from edgewise.views.scene import scene
from edgewise.views.trainings import Trainings

__all__ = ["Page"]

AT_ONCE = 2
SMALL = ("48,48",)
"""Sizes of the small pictures of all heads; web/src/marks/thumb.tsx has the same."""
LARGEST_PICTURE = 1024
"""Pixels along a side."""
WHOLE = 512
"""Rows and keys up to which scores are shown whole, hidden ones included; web/src/math/tile.ts has the same."""


class Page:
    """One page's server, as an ASGI application.

    Args:
        seen: what it shows.
        live: the model, where it is at hand.
        token: what requests must carry; made here where none is given.
        other: another run, to stand beside it.
    """

    def __init__(
        self, seen: Seen, live: Live | None = None, token: str | None = None, other: Seen | None = None
    ) -> None:
        self.token = secrets.token_urlsafe(16) if token is None else token
        self._live, self._runs, self._pictures = live, Runs(seen, other), Pictures()
        self._other = other is not None
        self._trainings = None if live is None else Trainings(live, self._runs)
        self._numbers = anyio.CapacityLimiter(AT_ONCE)
        self._model, self._small = anyio.CapacityLimiter(1), anyio.CapacityLimiter(1)
        routes = [
            Route("/", self._page),
            Route("/static/edgewise.js", self._program),
            Route("/api/{name}", self._api, methods=["GET", "POST"]),
        ]
        self.application = Guard(Starlette(routes=routes), self.token)

    def close(self) -> None:
        """Stop whatever still runs."""
        if self._trainings is not None:
            self._trainings.stop_all()

    async def _page(self, request: Request) -> Response:
        del request
        whole: dict[str, Any] = {"scene": await anyio.to_thread.run_sync(self._scene, ""), "token": self.token}
        if self._other:
            whole["other"] = {"run": OTHER, "scene": await anyio.to_thread.run_sync(self._scene, OTHER)}
        text = json.dumps(whole, allow_nan=False).replace("<", "\\u003c")
        return HTMLResponse(
            '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><title>edgewise</title>'
            '<link rel="icon" href="data:,"><body style="margin:0"><div data-edgewise="server"></div>'
            f'<script type="application/json" id="scene">{text}</script>'
            '<script type="module" src="/static/edgewise.js"></script></body></html>\n'
        )

    async def _program(self, request: Request) -> Response:
        del request
        return Response(bundle(), media_type="text/javascript")

    def _scene(self, run: str) -> dict[str, Any]:
        seen = self._runs[run]
        return scene(seen.record, NONE if self._live is None else self._live.can, seen.output)

    async def _api(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            if request.method == "POST":
                given = _body(await request.body())
                work = POSTS.get(name)
            else:
                given, work = dict(request.query_params), GETS.get(name)
            if work is None:
                raise ArgumentError(f"there is no {request.method} {name} here")
            run = request.headers.get("x-edgewise-run", "")
            return await self._worked(request, lambda stop: work(self, run, given, stop), self._limit(name, given))
        except EdgewiseError as error:
            return said({"error": str(error)}, 400)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # a model may raise anything: it is told to the page, and the server goes on
            print(f"edgewise view: {name}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
            return said({"error": f"{type(error).__name__}: {error}"}, 500)

    def _limit(self, name: str, given: dict[str, Any]) -> anyio.CapacityLimiter:
        """Whoever looks at one head does not wait for the small pictures of all the others."""
        if name in ("swap", "read"):
            return self._model
        return self._small if name == "tile" and str(given.get("shape", "")) in SMALL else self._numbers

    async def _worked(
        self, request: Request, work: Callable[[Callable[[], bool]], Response], limit: anyio.CapacityLimiter
    ) -> Response:
        """Do the work in a thread, as long as somebody waits for it."""
        gone = False

        async def watch() -> None:
            nonlocal gone
            while not gone:
                message = await request.receive()
                gone = gone or message["type"] == "http.disconnect"

        watching = asyncio.ensure_future(watch())
        try:
            async with limit:
                if gone:
                    return said({"error": "nobody waits for this any more"}, 499)
                return await anyio.to_thread.run_sync(work, lambda: gone)
        finally:
            watching.cancel()

    def _tile(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del stop
        call, stage = asked.call_of(self._runs[run].record, given), asked.stage(given)
        if stage in ("raw", "scaled") and max(call.rows, call.keys) <= WHOLE:
            call, run = replace(call, graph=None, allowed=None), f"{run} whole"
        stage = "scaled" if stage == "masked" else stage
        shape = asked.pair(given, "shape", LARGEST_PICTURE)
        head, batch = asked.number(given, "head"), asked.number(given, "batch", 0)
        rows, keys = asked.span(given, "rows"), asked.span(given, "keys")
        return picture(self._pictures.look(run, call, head, batch, stage, rows, keys, shape))

    def _row(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del stop
        call = asked.call_of(self._runs[run].record, given)
        head, batch, query = (asked.number(given, name, 0) for name in ("head", "batch", "query"))
        return numbers(row(call, batch, head, query, asked.stage(given)))

    def _column(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del stop
        call = asked.call_of(self._runs[run].record, given)
        head, batch, key = (asked.number(given, name, 0) for name in ("head", "batch", "key"))
        key = call.number(key, call.keys, "key")
        return numbers(tile(call, batch, head, None, slice(key, key + 1), asked.stage(given))[:, 0])

    def _cell(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del stop
        call = asked.call_of(self._runs[run].record, given)
        return arithmetic(cell(call, *(asked.number(given, name, 0) for name in ("batch", "head", "query", "key"))))

    def _product(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del stop
        live, seen = self._able("product"), self._runs[run]
        site = asked.call_of(seen.record, given).site
        head = asked.number(given, "head")
        if not 0 <= head < site.heads:
            raise ArgumentError(f"head must be from 0 to {site.heads - 1} at {site.name}; got {head}")
        return numbers(live.product(seen, site.name, head))

    def _told_scene(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del given, stop
        return said(self._scene(run))

    def _swap(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        live = self._able("swap")
        seen = self._runs[run]
        return self._added(live.swapped(seen, asked.switches(given, seen.record), stop))

    def _read(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del run
        generate = asked.number(given, "generate", 0)
        live, text = self._able("generate" if generate else "text"), asked.text(given)
        if not 0 <= generate <= 1000:
            raise ArgumentError(f"generate is a number of tokens up to 1,000; got {generate}")
        return self._added(live.read(text, generate, stop))

    def _added(self, seen: Seen) -> Response:
        name = self._runs.add(seen)
        return said({"run": name, "scene": self._scene(name)})

    def _train(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del run, stop
        self._able("train")
        assert self._trainings is not None
        if "stop" in given:
            return said(self._trainings.stop(asked.number(given, "stop")))
        return said(self._trainings.start(str(given.get("rung", "")), asked.number(given, "steps", 500)))

    def _training(self, run: str, given: dict[str, Any], stop: Callable[[], bool]) -> Response:
        del run, stop
        if self._trainings is None:
            return said([])
        if "id" not in given:
            return said(self._trainings.all())
        return said(self._trainings.said(asked.number(given, "id"), asked.number(given, "since", 0)))

    def _able(self, what: str) -> Live:
        why = getattr(NONE if self._live is None else self._live.can, what)
        if why or self._live is None:
            raise ArgumentError(why)
        return self._live


Work = Callable[[Page, str, dict[str, Any], Callable[[], bool]], Response]
GETS: dict[str, Work] = {
    "scene": Page._told_scene,
    "tile": Page._tile,
    "row": Page._row,
    "column": Page._column,
    "cell": Page._cell,
    "product": Page._product,
    "training": Page._training,
}
POSTS: dict[str, Work] = {"swap": Page._swap, "read": Page._read, "train": Page._train}


def _body(raw: bytes) -> dict[str, Any]:
    try:
        given = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise ArgumentError("wanted a JSON object in the body") from None
    if not isinstance(given, dict):
        raise ArgumentError(f"wanted a JSON object in the body; got {type(given).__name__}")
    return given  # pyright: ignore[reportUnknownVariableType]
