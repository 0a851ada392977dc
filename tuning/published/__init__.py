"""Figures that others published, kept apart from everything measured here. No Django."""

from __future__ import annotations

from tuning.published.derived import path_lengths
from tuning.published.loader import (
    Column,
    PublishedTable,
    Source,
    Statement,
    publications,
    table,
    tables,
)

__all__ = [
    "Column",
    "PublishedTable",
    "Source",
    "Statement",
    "path_lengths",
    "publications",
    "table",
    "tables",
]
