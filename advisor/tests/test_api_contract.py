"""The committed OpenAPI document is the API. That answers are as it says: test_api_examples."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs" / "reference" / "openapi.json"


@cache
def committed() -> dict[str, Any]:
    """The document, to be read only."""
    return dict(json.loads(COMMITTED.read_text()))


def test_the_committed_document_has_not_drifted(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.json"
    call_command("export_openapi_schema", api="advisor.api.api.api", output=fresh, indent=1)
    assert json.loads(fresh.read_text()) == json.loads(COMMITTED.read_text()), (
        "run: .venv/bin/python manage.py export_openapi_schema --api advisor.api.api.api "
        "--indent 1 --output docs/reference/openapi.json"
    )
