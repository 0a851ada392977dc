"""How a line of an option file is written, so that the server reads back exactly what was meant.

Facts on the format: MySQL Reference Manual, "Using Option Files".
"""

from __future__ import annotations

import re

#: The server reads a file in pieces of 4 KiB: what is longer continues as another line.
MAX_LINE_BYTES = 4095
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
_PLAIN = re.compile(r"[A-Za-z0-9_.%:/,+-]+")


def option_value(value: str) -> str:
    """A value as it must be written for the server to read back exactly this text."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'


def option_line(name: str, value: str | None) -> str:
    """One line; None is a bare option."""
    return name if value is None else f"{name} = {option_value(value)}"
