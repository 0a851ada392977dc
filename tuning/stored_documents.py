"""Store result documents with their answers, and read them until the study's revision changes."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import prefetch_related_objects

from tuning.export.answer import answer_of
from tuning.export.lines import lines_of
from tuning.models import StoredDocument, Study
from tuning.recommendations import StudyFiles
from tuning.results.build import build
from tuning.results.document import SCHEMA_VERSION, StudyDocument
from tuning.results.study_rows import read_studies

_NAMED_IN_DOCUMENTS = ("server", "host", "devices", "workloads__load_host")


def document_of(study: Study) -> StudyDocument:
    """Return the document of the study's revision; build and store it if there is none yet."""
    return documents_of([study])[0]


def documents_of(studies: Sequence[Study]) -> list[StudyDocument]:
    """Return the documents of several studies; what is not stored yet is read together."""
    found = _stored(studies)
    missing = [study for study in studies if study.pk not in found]
    if missing:
        prefetch_related_objects(missing, *_NAMED_IN_DOCUMENTS)
        built = _with_answers([build(rows) for rows in read_studies(missing)])
        _store(built)
        found |= {one.study.id: one for one in built}
    return [found[study.pk] for study in studies]


def _with_answers(documents: Sequence[StudyDocument]) -> list[StudyDocument]:
    """Add the answers: they need variables that servers read back, which no document has."""
    found = []
    for document, files in zip(documents, StudyFiles.of_all(documents), strict=True):
        facts = (files.facts(one.id) for _, one in document.recommendations)
        answers = tuple(answer_of(one, lines_of(one)) for one in facts)
        found.append(document.model_copy(update={"answers": answers}))
    return found


def _stored(studies: Sequence[Study]) -> dict[int, StudyDocument]:
    """Read by study the documents that are those of its revision and of our schema."""
    revisions = {study.pk: study.revision for study in studies}
    rows = StoredDocument.objects.filter(study__in=studies, schema_version=SCHEMA_VERSION)
    return {
        row.study_id: StudyDocument.model_validate_json(row.content)
        for row in rows
        if row.revision == revisions[row.study_id]
    }


def _store(documents: Sequence[StudyDocument]) -> None:
    rows = [
        StoredDocument(
            study_id=one.study.id,
            revision=one.revision,
            schema_version=SCHEMA_VERSION,
            content=one.model_dump_json(),
        )
        for one in documents
    ]
    StoredDocument.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["study"],
        update_fields=["revision", "schema_version", "content"],
    )
