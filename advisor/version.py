"""The program's version: that of pyproject.toml, for the project is run from its checkout."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

_PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


@cache
def version() -> str:
    """Return the version, such as "0.6.0"."""
    return str(tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["version"])
