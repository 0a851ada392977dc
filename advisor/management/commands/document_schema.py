"""`manage.py document_schema`: write the JSON schema of the result document."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from tuning.results.document import StudyDocument


class Command(BaseCommand):
    help = "Write docs/reference/study-document.schema.json from the classes."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        schema = StudyDocument.model_json_schema(mode="serialization")
        path = settings.BASE_DIR / "docs" / "reference" / "study-document.schema.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(schema, indent=1) + "\n")
        self.stdout.write(f"{path} is written.")
