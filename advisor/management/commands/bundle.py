"""`manage.py bundle`: a study in a file, and files from elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from advisor.api.documents import study_document
from advisor.management.refusals import ends_when_refused
from advisor.processes.database import prepare_database
from tuning.bundles.read import read_bundle
from tuning.bundles.store import store_bundle
from tuning.bundles.write import write_bundle
from tuning.errors import TuningError
from tuning.models import Study
from tuning.results.study_result import StudyResult


class Command(BaseCommand):
    help = (
        "Write a study that has ended into a FILE, or store the study of a FILE from another "
        "installation, to be looked at. Exits with 1 if it is refused."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        export = actions.add_parser("export", help="write a study into a new file")
        export.add_argument("id", type=int, metavar="ID", help="number of the study")
        export.add_argument("file", type=Path, metavar="FILE", help="must not exist yet")
        take = actions.add_parser("import", help="store the study of a file from elsewhere")
        take.add_argument("file", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with ends_when_refused(self):
                prepare_database()
                if options["action"] == "export":
                    _export(options["id"], path)
                    self.stdout.write(f"{path} has study {options['id']}.")
                else:
                    with path.open("rb") as file:
                        study = store_bundle(read_bundle(file), _check)
                    self.stdout.write(f"Study {study.pk}: {study.name}.")
        except OSError as error:
            self.stderr.write(f"file_failed: {error}")
            sys.exit(1)


def _export(pk: int, path: Path) -> None:
    study = Study.objects.select_related("host", "server").filter(pk=pk).first()
    if study is None:
        raise TuningError("not_found", f"there is no study {pk}")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with open(descriptor, "w+b") as file:
            write_bundle(study, study_document(StudyResult(study)), file)
    except BaseException:
        path.unlink()
        raise


def _check(study: Study) -> None:
    study_document(StudyResult(study))
