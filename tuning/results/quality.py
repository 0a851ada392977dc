"""The data quality of a study: runs that were disturbed or still warming, checks that were off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.conf import settings

from benchmarks.counted import WERE, counted
from benchmarks.models import RunState
from benchmarks.telemetry.disturbance import switched_off
from tuning.models import SlotPurpose
from tuning.results.document import Quality, RunFacts
from tuning.results.study_rows import SlotRow

NAMES = {
    "steal": "steal time of the hypervisor",
    "foreign_cpu": "CPU use of other programs",
    "foreign_io": "disk use of other programs",
    "stall": "stalls of the host",
    "suspended": "suspension of the machine",
    "swap": "swapping",
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
    unwatched = {line for slot in ended for line in slot.run.unwatched}
    runs = [run for run in history if run.purpose != SlotPurpose.SEARCH]
    disturbed = [run for run in runs if run.state == RunState.DISTURBED]
    ok = [run for run in runs if run.is_ok]
    kinds: Counter[str] = Counter()
    for run in sorted(disturbed, key=lambda run: run.id):
        kinds.update({found["kind"] for found in run.disturbances})
    limit_pct = settings.STEAL_LIMIT_PCT
    steal = [run.cpu_steal_pct or 0.0 for run in ok]
    stolen = tuple(pct for pct in steal if pct > limit_pct > 0)
    lost = sum(run.replaced_by is None for run in disturbed)
    warming = sum(run.still_warming for run in ok)
    causes = dict(kinds.most_common())
    texts = [
        *_about_disturbed(len(disturbed), lost, causes),
        *([f"{counted(warming, 'run', WERE)} still warming up."] if warming else []),
        *_about_the_host(stolen, unwatched),
    ]
    return Quality(
        disturbed=len(disturbed),
        without_figure=lost,
        still_warming=warming,
        kinds=causes,
        unwatched=tuple(sorted(unwatched)),
        stolen_pct=stolen,
        sentence=" ".join(texts),
    )


def _about_disturbed(number: int, lost: int, kinds: Mapping[str, int]) -> Iterator[str]:
    if number:
        causes = ", ".join(NAMES.get(kind, kind) for kind in kinds)
        yield f"{counted(number, 'run', WERE)} disturbed{f' by {causes}' if causes else ''}:"
        parts = [f"{number - lost} measured again"] if number > lost else []
        parts += [f"{lost} left out"] if lost else []
        yield f"{' and '.join(parts)}."


def _about_the_host(stolen_pct: Sequence[float], unwatched: Iterable[str]) -> Iterator[str]:
    if stolen_pct:
        yield (
            f"In {counted(len(stolen_pct), 'counted run')} the hypervisor took up to "
            f"{max(stolen_pct):.1f} % of the CPU time, as is usual on this host."
        )
    if off := switched_off(unwatched):
        yield f"Not monitored, because switched off: {', '.join(off)}."
