"""`manage.py knobs_docs` writes the generated pages where they belong."""

from __future__ import annotations

from pathlib import Path

from django.core.management import call_command
from pytest_django import Settings

from tuning.knob_docs.whitepaper import whitepaper_page


def test_the_command_writes_both_pages(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    settings.BASE_DIR = tmp_path
    call_command("knobs_docs")
    written = {path.name: path.read_text() for path in (tmp_path / "docs").iterdir()}
    assert written.keys() == {"knobs.md", "whitepaper-parameters.md"}
    assert written["whitepaper-parameters.md"] == whitepaper_page()
