"""The data quality of a study: runs that were disturbed or still warming, checks that were off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings

from benchmarks.counted import WERE, counted
from benchmarks.models import RunState
from benchmarks.telemetry.disturbance import switched_off
from tuning.results.run_list import RunLine

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


@dataclass(frozen=True)
class DataQuality:
    """The data quality of one study so far.

    `disturbed` counts void runs; `without_figure` of them were not measured again. `kinds` counts
    them by cause (keys of NAMES; a run may have several). `still_warming` runs count, but their
    throughput had a trend. `unwatched` has one line for each check that was switched off or for
    which the host reports no figures. `stolen_pct` is the steal time of those that count with more
    than the limit of a quiet host, because it is usual there.
    """

    disturbed: int
    without_figure: int
    still_warming: int
    kinds: dict[str, int]
    unwatched: tuple[str, ...]
    stolen_pct: tuple[float, ...] = ()

    def sentences(self) -> str:
        """For the verdict; "" if there is nothing to report."""
        texts = []
        if self.disturbed:
            causes = ", ".join(NAMES.get(kind, kind) for kind in self.kinds)
            by = f" by {causes}" if causes else ""
            texts.append(f"{counted(self.disturbed, 'run', WERE)} disturbed{by}:")
            again = self.disturbed - self.without_figure
            parts = [f"{again} measured again"] if again else []
            if self.without_figure:
                parts.append(f"{self.without_figure} left out")
            texts.append(f"{' and '.join(parts)}.")
        if self.still_warming:
            texts.append(f"{counted(self.still_warming, 'run', WERE)} still warming up.")
        if self.stolen_pct:
            texts.append(
                f"In {counted(len(self.stolen_pct), 'counted run')} the hypervisor took up to "
                f"{max(self.stolen_pct):.1f} % of the CPU time, as is usual on this host."
            )
        if off := switched_off(self.unwatched):
            texts.append(f"Not monitored, because switched off: {', '.join(off)}.")
        return " ".join(texts)


def data_quality(history: Sequence[RunLine], unwatched: Iterable[str]) -> DataQuality:
    """Counted over all runs of the study, including those that were measured again."""
    disturbed = [line for line in history if line.run.state == RunState.DISTURBED]
    kinds: Counter[str] = Counter()
    limit_pct = settings.STEAL_LIMIT_PCT
    taken = [line.run.cpu_steal_pct or 0.0 for line in history if line.run.state == RunState.OK]
    for line in sorted(disturbed, key=lambda line: line.run.pk):
        kinds.update({found["kind"] for found in line.run.disturbed_by})
    return DataQuality(
        disturbed=len(disturbed),
        without_figure=sum(line.again is None for line in disturbed),
        still_warming=sum(
            line.run.state == RunState.OK and line.run.still_warming for line in history
        ),
        kinds=dict(kinds.most_common()),
        unwatched=tuple(sorted(unwatched)),
        stolen_pct=tuple(pct for pct in taken if pct > limit_pct > 0),
    )
