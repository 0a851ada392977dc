"""What messages are sent to in tests: a server on this host that keeps what it gets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """Answers with `statuses`, one after the other, then with the last of them."""

    statuses: list[int]
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.got.append(({k.lower(): v for k, v in handler.headers.items()}, body))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        handler.send_response(status)
        if status == 302:
            handler.send_header("Location", self.url)
        handler.end_headers()

    @property
    def messages(self) -> list[Any]:
        return [json.loads(body) for _, body in self.got]

    @property
    def place(self) -> str:
        """Scheme, host and port, as they are listed."""
        return self.url.partition("/hook")[0]


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    """One that answers until the end of the block."""
    receiver = Receiver(list(statuses or (200,)))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.answer(self)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook?from=advisor"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
