"""A set of knob values: its identity and its text in a my.cnf."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
_PLAIN = re.compile(r"[A-Za-z0-9_.%:/,+-]+")


def config_hash(knobs: Mapping[str, str]) -> str:
    """SHA-256 (hex) of normalised knobs: the same values give the same hash in any order."""
    text = json.dumps(sorted(knobs.items()), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def render_value(value: str) -> str:
    """A value as it must be written for the server to read back exactly this text."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'


def render_line(name: str, value: str | None) -> str:
    """One option line; None is a bare option."""
    return name if value is None else f"{name} = {render_value(value)}"


def render_cnf(knobs: Mapping[str, str]) -> str:
    """A my.cnf that sets these knobs and nothing else."""
    lines = (f"{render_line(name, value)}\n" for name, value in knobs.items())
    return "[mysqld]\n" + "".join(lines)
