"""What a study measures first, and when its figures are there: in place of an empty ranking."""

from __future__ import annotations

from advisor.wording.formatting import duration
from tuning.export.words import sentence
from tuning.models import StudyState
from tuning.results.study_result import StudyResult


def has_begun(result: StudyResult) -> bool:
    """Whether a run that had started has ended."""
    return any(
        slot.earlier or (slot.run.is_finished and slot.run.started_at is not None)
        for slot in result.slots
    )


def first_figures(result: StudyResult) -> str:
    """In two or three sentences; "" once a run or the study has ended."""
    study = result.study
    if study.is_finished or has_begun(result):
        return ""
    first = _first_run(result)
    if study.state != StudyState.RUNNING:
        first = f"the host loads the dataset and tries each config on the server; then {first}"
    if study.is_paused and not any(slot.run.started_at for slot in result.slots):
        first = f"nothing is measured until the study is resumed. After that, {first}"
    there = "when that run has ended"
    if study.search is not None:
        there = "when the baseline and a config have been measured"
    figures = f"The first figures, in a table and in charts, are on this page {there}."
    return f"{sentence(first)} {figures}"


def _first_run(result: StudyResult) -> str:
    first = next((slot for slot in result.slots if not slot.run.is_finished), None)
    if first is None:
        return "the first run measures the first config"
    on = f" on {first.device}" if len(result.devices) > 1 else ""
    load = first.workload
    return (
        f"the first run measures {first.candidate.name}{on}, for {duration(load.measure_s)} after "
        f"{duration(load.warmup_s)} of warm-up"
    )
