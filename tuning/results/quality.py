"""The data quality of a study: runs that were disturbed or still warming, checks that were off."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from django.conf import settings

from benchmarks.counted import WERE, counted
from benchmarks.models import RunState
from benchmarks.telemetry.disturbance import switched_off
from tuning.models import SlotPurpose
from tuning.results.document import Quality, RunFacts
from tuning.results.run_lines import SlotRow

NAMES = {
    "steal": "steal time of the hypervisor",
    "foreign_cpu": "CPU use of other programs",
    "foreign_io": "disk use of other programs",
    "stall": "stalls of the host",
    "suspended": "suspension of the machine",
    "swap": "swapping",
    "slower_clock": "a falling CPU clock rate",
    "throttled": "thermal throttling of the CPU",
    "host_changed": "a changed host configuration",
    "interval": "gaps in the telemetry",
    "client": "a load host that was the limit itself",
}


def quality_of(slots: Iterable[SlotRow], history: Iterable[RunFacts]) -> Quality:
    """Return the data quality of the ranked runs, including those that were measured again.

    The short runs of a search are not ranked.
    """
    ended = [one for one in slots if one.is_finished and one.purpose != SlotPurpose.SEARCH]
    texts = {slot.run.unwatched for slot in ended if slot.run.unwatched}
    unwatched = {line for text in texts for line in json.loads(text) or ()}
    runs = [run for run in history if run.purpose != SlotPurpose.SEARCH]
    disturbed = [run for run in runs if run.state == RunState.DISTURBED]
    ok = [run for run in runs if run.is_ok]
    kinds: Counter[str] = Counter()
    for run in sorted(disturbed, key=lambda run: run.id):
        kinds.update({found["kind"] for found in run.disturbances})
    limit_pct = settings.STEAL_LIMIT_PCT
    stolen = [run.cpu_steal_pct or 0.0 for run in ok]
    found = Quality(
        disturbed=len(disturbed),
        without_figure=sum(run.replaced_by is None for run in disturbed),
        still_warming=sum(run.still_warming for run in ok),
        kinds=dict(kinds.most_common()),
        unwatched=tuple(sorted(unwatched)),
        stolen_pct=tuple(pct for pct in stolen if pct > limit_pct > 0),
        sentence="",
    )
    return found.model_copy(update={"sentence": " ".join(_sentences(found))})


def _sentences(found: Quality) -> Iterator[str]:
    if found.disturbed:
        causes = ", ".join(NAMES.get(kind, kind) for kind in found.kinds)
        by = f" by {causes}" if causes else ""
        yield f"{counted(found.disturbed, 'run', WERE)} disturbed{by}:"
        again = found.disturbed - found.without_figure
        parts = [f"{again} measured again"] if again else []
        if found.without_figure:
            parts.append(f"{found.without_figure} left out")
        yield f"{' and '.join(parts)}."
    if found.still_warming:
        yield f"{counted(found.still_warming, 'run', WERE)} still warming up."
    if found.stolen_pct:
        yield (
            f"In {counted(len(found.stolen_pct), 'counted run')} the hypervisor took up to "
            f"{max(found.stolen_pct):.1f} % of the CPU time, as is usual on this host."
        )
    if off := switched_off(found.unwatched):
        yield f"Not monitored, because switched off: {', '.join(off)}."
