"""Serves plotly.js from the Python package that ships it, and nothing else of that folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage

PLOTLY_JS = "plotly/plotly.min.js"


class PlotlyFinder(BaseFinder):
    """Finds `plotly/plotly.min.js`, the build that matches the installed plotly.py."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        folder = Path(plotly.__file__).parent / "package_data"
        self.storage = FileSystemStorage(location=folder)
        self.storage.prefix = "plotly"  # type: ignore[attr-defined]  # read by collectstatic

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != PLOTLY_JS:
            return []
        found = self.storage.path("plotly.min.js")
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        yield "plotly.min.js", self.storage
