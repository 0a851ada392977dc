"""Keeps what a driver prints in bounds and free of passwords."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HIDDEN = "[hidden]"
#: tpcc_start repeats its options and its parameters, the password among both.
_PASSWORD_LINES = re.compile(r"^(option p with value |\s*\[pass\]:).*$", re.MULTILINE)
#: A shorter secret would also be found inside harmless words; the lines above hide it anyway.
_MIN_SECRET = 6


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without the lines that are known to show a password and without any of `secrets`."""
    text = _PASSWORD_LINES.sub(rf"\1 {_HIDDEN}", text)
    for secret in secrets:
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, _HIDDEN)
    return text


class BoundedText:
    """The first and the last `limit` bytes of a stream of any length.

    tpcc_start writes two lines for each failed attempt: against a server that was killed that
    came to 45 MB in six seconds.
    """

    def __init__(self, limit: int = 32_768) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        room = self._limit - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        if (surplus := len(self._tail) - self._limit) > 0:
            del self._tail[:surplus]
            self._dropped += surplus

    def text(self) -> str:
        """Return the kept text, with a line that says how much was dropped."""
        gap = f"\n[... {self._dropped} bytes left out ...]\n" if self._dropped else ""
        head, tail = (bytes(part).decode(errors="replace") for part in (self._head, self._tail))
        return head + gap + tail
