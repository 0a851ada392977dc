"""Everything the pages load comes from this server, and nothing of it is inline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
OURS = sorted((ROOT / "advisor" / "static" / "advisor").rglob("*.*"))
FOREIGN = re.compile(
    r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?https?:|@import"""
)
HANDLERS = re.compile(r"""\son(?:click|load|submit|change|input|error)\s*=|javascript:""")
SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)", re.I)


def test_there_are_templates_and_static_files() -> None:
    assert len(TEMPLATES) > 10
    assert {path.suffix for path in OURS} >= {".css", ".js", ".svg"}


def test_nothing_is_loaded_from_elsewhere_or_inline() -> None:
    for path in (*TEMPLATES, *OURS):
        text = path.read_text()
        assert not FOREIGN.search(text), f"{path}: a source on another server"
        if path.suffix == ".html":
            assert not HANDLERS.search(text), f"{path}: an inline event handler"
            assert not SCRIPT.search(text), f"{path}: an inline script"
            assert " style=" not in text, f"{path}: an inline style"


@pytest.mark.parametrize(
    "name",
    [
        "advisor/advisor.css",
        "advisor/app.js",
        "advisor/charts.js",
        "advisor/folds.js",
        "django_htmx/htmx-2.min.js",
        "plotly/plotly.min.js",
        "ninja/swagger-ui-bundle.js",
    ],
)
def test_every_script_and_style_sheet_is_found(name: str) -> None:
    assert finders.find(name)
