"""How much each knob of a study's search matters, by its screening runs."""

from __future__ import annotations

import json
from collections import OrderedDict

from tuning.models import SlotPurpose
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Observation
from tuning.strategy.search.importance import Importance, importance
from tuning.strategy.search.space import Space

# A model is fitted for each answer; pages ask again and again for the same one.
_MAX_KEPT = 16
_kept: OrderedDict[str, Importance] = OrderedDict()


def knob_importance(result: StudyResult) -> Importance | None:
    """Of a study that searches, from the rounds that have ended; None for others."""
    stored = result.study.search
    if stored is None or "space" not in stored:
        return None
    knobs = {one.name: one.config.knobs for one in result.candidates.values()}
    screened = _whole_rounds(result)
    metric = result.aim.objective
    seen = [(run.candidate, run.block, run.figure(metric), run.tpmP_at_most) for run in screened]
    names = {run.candidate for run in screened}
    configs = {name: knobs[name] for name in names}
    key = json.dumps([stored["space"], metric, seen, configs], sort_keys=True)
    if key not in _kept:
        _kept[key] = importance(Space.from_json(stored["space"]), screened, knobs, metric)
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]


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
