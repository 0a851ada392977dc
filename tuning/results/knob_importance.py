"""How much each knob of a study's search matters, by its screening runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from tuning.models import LearnedKnobs, SlotPurpose
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric, Observation
from tuning.strategy.search.importance import VERSION, Importance, importance
from tuning.strategy.search.space import Space


def knob_importance(result: StudyResult) -> Importance | None:
    """Of a study that searches, from the rounds that have ended; None for others.

    Mostly the host of the study has worked it out already: `learn_knobs`.
    """
    asked = _asked_of(result)
    if asked is None:
        return None
    stored = LearnedKnobs.objects.filter(study=result.study, key=asked.key).first()
    return Importance.from_json(stored.found) if stored else asked.answer()


def learn_knobs(result: StudyResult) -> None:
    """Work it out and store it, if that was not done for the same runs: for the study's host."""
    asked = _asked_of(result)
    if asked is None:
        return
    stored = LearnedKnobs.objects.filter(study=result.study)
    if not stored.filter(key=asked.key).exists():
        values = {"key": asked.key, "found": asked.answer().as_json()}
        LearnedKnobs.objects.update_or_create(study=result.study, defaults=values)


@dataclass(frozen=True)
class _Asked:
    """All that an importance is worked out from: `knobs` by name of the config."""

    space: Mapping[str, object]
    metric: Metric
    screened: list[Observation]
    knobs: Mapping[str, Mapping[str, str]]

    @property
    def key(self) -> str:
        """Differs whenever any of it does, or the way in which it is worked out."""
        seen = [
            (run.candidate, run.block, run.figure(self.metric), run.tpmP_at_most)
            for run in self.screened
        ]
        text = json.dumps([VERSION, self.space, self.metric, seen, self.knobs], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def answer(self) -> Importance:
        space = Space.from_json(self.space)
        return importance(space, self.screened, self.knobs, self.metric)


def _asked_of(result: StudyResult) -> _Asked | None:
    stored = result.study.search
    if stored is None or "space" not in stored:
        return None
    screened = _whole_rounds(result)
    names = {run.candidate for run in screened}
    knobs = {one.name: one.config.knobs for one in result.candidates.values() if one.name in names}
    return _Asked(stored["space"], result.aim.objective, screened, knobs)


def _whole_rounds(result: StudyResult) -> list[Observation]:
    """While a round is measured its runs wait: else each of them would cost a fit."""
    slots = [slot for slot in result.slots if slot.purpose == SlotPurpose.SEARCH]
    if not slots:
        return []
    running = {slot.block for slot in slots if not slot.run.is_finished}
    first = slots[0]
    return [
        run for run in result.screened_at(first.device, first.workload) if run.block not in running
    ]
