"""The committed OpenAPI document is the API: no drift, and the answers are as it says."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs" / "reference" / "openapi.json"
V1 = "/api/v1/"
STUDIES = f"{V1}studies/"


@cache
def committed() -> dict[str, Any]:
    """The document, to be read only."""
    return dict(json.loads(COMMITTED.read_text()))


@pytest.fixture
def document() -> dict[str, Any]:
    return committed()


def check(document: dict[str, Any], name: str, value: Any) -> None:
    """`value` is what the document's component `name` describes, with no key too many."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.validate(value, schema, jsonschema.Draft202012Validator)
    described = document["components"]["schemas"][name]["properties"]
    assert set(value) <= set(described), set(value) - set(described)


def test_the_committed_document_has_not_drifted(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.json"
    call_command("export_openapi_schema", api="advisor.api.api.api", output=fresh, indent=1)
    assert json.loads(fresh.read_text()) == json.loads(COMMITTED.read_text()), (
        "run: .venv/bin/python manage.py export_openapi_schema --api advisor.api.api.api "
        "--indent 1 --output docs/reference/openapi.json"
    )
