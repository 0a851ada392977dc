"""Result documents as they are stored: read while they are those of the study's revision."""

from __future__ import annotations

from collections.abc import Sequence

from tuning.models import StoredDocument, Study
from tuning.results.build import build
from tuning.results.document import SCHEMA_VERSION, StudyDocument
from tuning.results.study_result import results_of


def document_of(study: Study) -> StudyDocument:
    """Return the document of the study's revision; build and store it if there is none yet."""
    return documents_of([study])[0]


def documents_of(studies: Sequence[Study]) -> list[StudyDocument]:
    """Return the documents of several studies; what is not stored yet is read together."""
    rows = StoredDocument.objects.filter(study__in=studies, schema_version=SCHEMA_VERSION)
    texts = {
        (pk, revision): text
        for pk, revision, text in rows.values_list("study_id", "revision", "content")
    }
    found = {
        study.pk: StudyDocument.read(texts[study.pk, study.revision])
        for study in studies
        if (study.pk, study.revision) in texts
    }
    missing = [study for study in studies if study.pk not in found]
    for result in results_of(missing) if missing else ():
        built = build(result)
        found[result.study.pk] = built
        values = {
            "revision": built.revision,
            "schema_version": SCHEMA_VERSION,
            "content": built.model_dump_json(),
        }
        StoredDocument.objects.update_or_create(study=result.study, defaults=values)
    return [found[study.pk] for study in studies]
