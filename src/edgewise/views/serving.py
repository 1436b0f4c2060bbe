"""Serving a page until somebody presses Ctrl-C."""

import contextlib
import socket
from collections.abc import Callable

import uvicorn

from edgewise.errors import RunError
from edgewise.views.server import Page

__all__ = ["Serving"]


class Serving:
    """A page on a port of this machine.

    Args:
        page: the page.
        port: which port; 0 for any that is free.

    Raises:
        RunError: the port is taken.
    """

    def __init__(self, page: Page, port: int = 0) -> None:
        self._page = page
        # Named as TCP, or asyncio leaves Nagle's algorithm on: small answers then wait 40 ms for an acknowledgement.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(128)
        except OSError as error:
            self._socket.close()
            raise RunError(f"port {port} cannot be used ({error.strerror}); give another, or none for any") from error
        config = uvicorn.Config(
            page.application,
            log_level="critical",
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=0,
            server_header=False,
            limit_concurrency=256,
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """What to open."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/?token={self._page.token}"

    def run(self, ready: Callable[[str], None] | None = None) -> None:
        """Serve until `stop`, or Ctrl-C where this is the main thread."""
        if ready is not None:
            ready(self.address)
        with contextlib.suppress(KeyboardInterrupt):
            self._server.run([self._socket])
        self._page.close()
        self._socket.close()

    def stop(self) -> None:
        """End `run`, from any thread."""
        self._server.should_exit = True
        self._server.force_exit = True
