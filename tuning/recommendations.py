"""The recommendations of a study as files: what `tuning.export` needs, read and passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.models import Run
from tuning.export.facts import ExportFacts
from tuning.export.formats import Exported, ExportRequest, export
from tuning.models import Candidate, Study
from tuning.results.document import CandidateFacts, StudyDocument


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
        answered = [one for one in documents if one.recommendations]
        variables, files = (_variables(answered), _files(answered)) if answered else ({}, {})
        return [cls(one, variables, files) for one in documents]

    def facts(self, recommendation: int, *, study_url: str = "") -> ExportFacts:
        """Return the evidence that the files of a recommendation show.

        study_url: the page of the study, for the head of the files.
        """
        document = self.document
        [(board, found)] = (one for one in document.recommendations if one[1].id == recommendation)
        facts = ExportFacts(document, board, found, study_url=study_url)
        winner, baseline = facts.candidate, facts.baseline
        only_here = facts.model.only_here(facts.server) if facts.model else {}
        there = self.variables.get(baseline.id, {}).items()
        origins = (*_origins(document, winner), baseline.id)
        return replace(
            facts,
            candidate_variables=self.variables.get(winner.merged_into_id or winner.id, {}),
            baseline_variables={name: text for name, text in there if name not in only_here},
            file=next(filter(None, map(self.files.get, origins)), None),
        )

    def export(
        self, recommendation: int, request: ExportRequest, *, study_url: str = ""
    ) -> Exported:
        """Return a recommendation as a file; raises like `tuning.export.formats.export`."""
        return export(self.facts(recommendation, study_url=study_url), request)


def _origins(document: StudyDocument, winner: CandidateFacts) -> Iterator[int]:
    """Yield the winner and the candidates that it was taken from, the nearest first."""
    current: CandidateFacts | None = winner
    while current is not None:
        yield current.id
        current = document.candidate.get(current.taken_from_id or 0)


def _variables(documents: Sequence[StudyDocument]) -> dict[int, Mapping[str, str]]:
    """Return the variables of a successful run, by id of each baseline and winner."""
    ok: dict[int, int] = {}
    for document in documents:
        pairs = [(board.baseline_id, one.candidate_id) for board, one in document.recommendations]
        named = {pk for pair in pairs for pk in pair}
        # A reduced config may have the effective values of another, which is measured for it.
        wanted = {document.candidate[one].merged_into_id or one for one in named}
        runs = [run for run in document.newest_runs if run.is_ok and run.candidate_id in wanted]
        ok |= {run.candidate_id: run.id for run in reversed(runs)}
    read = dict(Run.objects.filter(pk__in=ok.values()).values_list("pk", "variables"))
    return {candidate_id: read[run_id] for candidate_id, run_id in ok.items()}


def _files(documents: Sequence[StudyDocument]) -> dict[int, bytes]:
    """Return the files that users gave, byte for byte; none was made of a server's profile."""
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
