"""A set of normalised knob values: its identity and its text in a my.cnf."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from benchmarks.servers.options import option_line
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.values import readable_value, usable


def config_hash(knobs: Mapping[str, str]) -> str:
    """SHA-256 (hex) of normalised knobs: the same values give the same hash in any order."""
    text = json.dumps(sorted(knobs.items()), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def cnf_value(name: str, value: str, target: ServerTraits) -> str:
    """The value for a my.cnf: bytes with a unit, such as 2G, where the target reads the same."""
    knob = load_catalogue().get(name)
    text = readable_value(knob, value)
    return text if knob and usable(knob, text, target) == value else value


def cnf_line(name: str, value: str, target: ServerTraits) -> str:
    """One line of a my.cnf."""
    return option_line(name, cnf_value(name, value, target))


def render_cnf(knobs: Mapping[str, str], target: ServerTraits) -> str:
    """A my.cnf that sets these knobs and nothing else."""
    lines = (f"{cnf_line(name, value, target)}\n" for name, value in knobs.items())
    return "[mysqld]\n" + "".join(lines)
