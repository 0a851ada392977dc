"""Write docs/reference/numbers.md (.venv/bin/python -m advisor.tests.numbers_page)."""

from __future__ import annotations

from pathlib import Path

from advisor.wording.definitions import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "numbers.md"

if __name__ == "__main__":
    PAGE.write_text(markdown())
