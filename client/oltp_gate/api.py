"""The few requests that a gate takes, with patience for an advisor that is away for a while."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

_TIMEOUT_S = 30  # of one request
# Statuses after which the same request may succeed.
_LATER = {408, 409, 429, 500, 502, 503, 504}
_MAX_PAUSE_S = 30.0


class ClientError(Exception):
    """The advisor refused the request, or did not answer for too long."""


class _NoRedirects(HTTPRedirectHandler):
    """A token is for the address that was given, and for no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """An advisor at `url`; requests that fail on the way are repeated for `patience_s`."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience_s: float = 300.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ClientError(f"{url!r} is not an http address")
        self._base = url.rstrip("/") + "/api/v1/"
        self._token = token
        self._patience_s = patience_s
        self._sleep = sleep
        self._opener = build_opener(_NoRedirects)

    def create_gate(self, body: dict[str, Any]) -> dict[str, Any]:
        """The new gate. Sent again after a broken connection it creates no second one."""
        return self._json("POST", "gates/", body, {"Idempotency-Key": uuid.uuid4().hex})

    def gate(self, pk: int) -> dict[str, Any]:
        """The gate as it is now."""
        return self._json("GET", f"gates/{pk}/")

    def cancel(self, pk: int) -> None:
        """Stop measuring it."""
        self._json("POST", f"gates/{pk}/actions/cancel/", {})

    def file(self, pk: int, name: str) -> str:
        """One of the gate's files, such as junit.xml."""
        return self._send("GET", f"gates/{pk}/{name}").decode()

    def _json(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        try:
            found = json.loads(self._send(method, path, data, headers or {}))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ClientError(f"{self._base} does not answer like an advisor")
        return found

    def _send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        request = Request(  # noqa: S310  # the address begins with http: __init__
            self._base + path,
            data,
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                **(headers or {}),
            },
            method=method,
        )
        until = time.monotonic() + self._patience_s
        pause = 1.0
        while True:
            try:
                with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                    return bytes(answer.read())
            except HTTPError as error:
                reason, after = _refusal(error), error.headers.get("Retry-After", "")
                if error.code not in _LATER or time.monotonic() > until:
                    raise ClientError(reason) from None
                if after.isdigit():
                    pause = min(float(after), _MAX_PAUSE_S)
            except (URLError, HTTPException, OSError) as error:
                if time.monotonic() > until:
                    raise ClientError(f"{self._base} does not answer: {error}") from None
            self._sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_S)


def _refusal(error: HTTPError) -> str:
    """Return the advisor's message; else the status."""
    try:
        found = json.loads(error.read())["error"]
        return f"{found['code']}: {found['message']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {error.code}"
