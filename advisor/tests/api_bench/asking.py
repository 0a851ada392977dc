"""One request, as a pipeline's step sends it: with a connection of its own."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Answer:
    """ms: from the first try to connect to the last byte."""

    status: int
    body: bytes
    ms: float
    headers: Mapping[str, str] = field(default_factory=dict)


def ask(
    port: int,
    token: str,
    path: str,
    *,
    method: str = "GET",
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Raises OSError where nobody answers."""
    begin = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    ours = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, body, ours | dict(headers or {}))
        found = connection.getresponse()
        text = found.read()
        ms = (time.perf_counter() - begin) * 1000
        return Answer(found.status, text, ms, dict(found.getheaders()))
    finally:
        connection.close()


def at(values: list[float], share: float) -> float:
    """The smallest value that so many are not above; nan of none."""
    found = sorted(values)
    return found[min(len(found) - 1, int(len(found) * share))] if found else float("nan")
