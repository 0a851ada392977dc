"""The body of a request must arrive within a time, however slowly its client sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from gevent import Timeout

from advisor.processes.frames import with_room

BODY_SECONDS = 60.0

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class BodyTooSlow(OSError):
    """Django turns it into UnreadablePostError, as it does for a broken connection."""


class TimedBody:
    """`wsgi.input` that raises BodyTooSlow `seconds` after the request's beginning.

    Only for a worker with greenlets, where somebody else runs while one waits.
    """

    def __init__(self, stream: Any, seconds: float = BODY_SECONDS) -> None:
        self._stream = stream
        self._until = time.monotonic() + seconds
        self.was_too_slow = False

    def read(self, *arguments: Any) -> bytes:
        return self._within(self._stream.read, *arguments)

    def readline(self, *arguments: Any) -> bytes:
        return self._within(self._stream.readline, *arguments)

    def _within(self, read: Callable[..., bytes], *arguments: Any) -> bytes:
        left = max(0.001, self._until - time.monotonic())
        try:
            with Timeout(left, BodyTooSlow("the body took too long")):
                return read(*arguments)
        except BodyTooSlow:
            self.was_too_slow = True
            raise


def timed_bodies(application: Application) -> Application:
    """The application with TimedBody, where gunicorn serves it."""

    @with_room
    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if "gunicorn.socket" in environ:
            environ["wsgi.input"] = TimedBody(environ["wsgi.input"])
        return application(environ, start_response)

    return serve
