"""The recommendations of a study as files: what `tuning.export` needs, read and passed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.models import Run, RunState
from tuning.export.facts import ExportFacts, export_facts
from tuning.export.formats import Exported, ExportRequest, export
from tuning.models import Candidate, Study
from tuning.results.document import StudyDocument


@dataclass(frozen=True)
class StudyFiles:
    """The data from which the files of a study's recommendations are made.

    variables, files: what a successful run read back, and the user's own file, by candidate.
    """

    document: StudyDocument
    variables: Mapping[int, Mapping[str, str]]
    files: Mapping[int, bytes]

    @classmethod
    def of(cls, document: StudyDocument) -> StudyFiles:
        """Read what the document does not have."""
        return cls.of_all([document])[0]

    @classmethod
    def of_all(cls, documents: Sequence[StudyDocument]) -> list[StudyFiles]:
        """Read for several studies at once what their documents do not have."""
        if not any(one.recommendations for one in documents):
            return [cls(one, {}, {}) for one in documents]
        variables, files = _variables(documents), _files(documents)
        return [cls(one, variables, files) for one in documents]

    def facts(
        self,
        recommendation: int,
        request: ExportRequest | None = None,
        *,
        study_url: str = "",
    ) -> ExportFacts:
        """Return the evidence that the files of a recommendation show."""
        asked = request or ExportRequest()
        boards = {found.id: board for board, found in self.document.recommendations}
        return export_facts(
            self.document,
            boards[recommendation],
            self.variables,
            self.files,
            keeps_lines=asked.keeps_lines,
            as_measured=asked.as_measured,
            study_url=study_url,
        )

    def export(
        self, recommendation: int, request: ExportRequest, *, study_url: str = ""
    ) -> Exported:
        """Return a recommendation as a file; raises like `tuning.export.formats.export`.

        study_url: the page of the study, for the head of the file.
        """
        return export(self.facts(recommendation, request, study_url=study_url), request)


def _variables(documents: Sequence[StudyDocument]) -> dict[int, Mapping[str, str]]:
    """Return the variables of a successful run, by id of each baseline and winner."""
    ok: dict[int, int] = {}
    for document in documents:
        named = set()
        for board, found in document.recommendations:
            named |= {board.baseline_id, found.candidate_id, found.whole_id or found.candidate_id}
        # A reduced config may have the effective values of another, which is measured for it.
        wanted = {document.candidate[one].merged_into_id or one for one in named}
        ok |= {
            run.candidate_id: run.id
            for run in reversed(document.newest_runs)
            if run.state == RunState.OK and run.candidate_id in wanted
        }
    read = dict(Run.objects.filter(pk__in=ok.values()).values_list("pk", "variables"))
    return {candidate_id: read[run_id] for candidate_id, run_id in ok.items()}


def _files(documents: Sequence[StudyDocument]) -> dict[int, bytes]:
    """The files that users gave, byte for byte; not what was made of a server's profile."""
    studies = Study.objects.filter(pk__in=[one.study.id for one in documents])
    given = {
        (pk, one["name"])
        for pk, request in studies.values_list("pk", "request")
        for one in (request or {}).get("configs", ())
    }
    own = Candidate.objects.filter(study__in=studies, name__in={name for _, name in given})
    found = own.exclude(text="").values_list("pk", "study", "name", "text", "encoding")
    return {
        pk: text.encode(encoding)
        for pk, study, name, text, encoding in found
        if (study, name) in given
    }
