"""`manage.py document_schema`: write the JSON schemas of the result document and the export."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from pydantic import BaseModel

from tuning.export.formats import ExportDocument
from tuning.results.document import StudyDocument

DOCUMENTS: dict[str, type[BaseModel]] = {
    "study-document": StudyDocument,
    "export": ExportDocument,
}


class Command(BaseCommand):
    help = "Write docs/reference/*.schema.json from the classes."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for name, document in DOCUMENTS.items():
            schema = document.model_json_schema(mode="serialization")
            path = settings.BASE_DIR / "docs" / "reference" / f"{name}.schema.json"
            path.write_text(json.dumps(schema, indent=1) + "\n")
            self.stdout.write(f"{path} is written.")
