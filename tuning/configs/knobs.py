"""A set of knob values: its identity and its text in a my.cnf."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from benchmarks.servers.option_file import option_line


def config_hash(knobs: Mapping[str, str]) -> str:
    """SHA-256 (hex) of normalised knobs: the same values give the same hash in any order."""
    text = json.dumps(sorted(knobs.items()), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def render_cnf(knobs: Mapping[str, str]) -> str:
    """A my.cnf that sets these knobs and nothing else."""
    lines = (f"{option_line(name, value)}\n" for name, value in knobs.items())
    return "[mysqld]\n" + "".join(lines)
