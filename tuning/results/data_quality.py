"""How far a study's runs can be trusted: the disturbed, the still warming, the unwatched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.models import RunState
from benchmarks.telemetry.disturbance import switched_off
from tuning.results.history import RunLine

NAMES = {
    "steal": "CPU time kept by the hypervisor",
    "foreign_cpu": "other programs' CPU use",
    "foreign_io": "other programs' disk use",
    "stall": "the host standing still",
    "suspended": "the machine being suspended",
    "swap": "swapping",
    "slower_clock": "a falling CPU clock",
    "throttled": "CPUs throttled for heat",
    "host_changed": "changed settings of the host",
    "interval": "an interval that telemetry did not see",
}


@dataclass(frozen=True)
class DataQuality:
    """Of one study so far.

    `disturbed` runs were void, `without_figure` of them for good, the others were measured
    again. `kinds` counts them by what disturbed them (keys of NAMES; a run may have several).
    `still_warming` runs count, but their throughput had a trend. `unwatched` has one line for
    each check that was off or that the host has no figures for.
    """

    disturbed: int
    without_figure: int
    still_warming: int
    kinds: dict[str, int]
    unwatched: tuple[str, ...]

    def sentences(self) -> str:
        """For the verdict; "" when there is nothing to say."""
        said = []
        if self.disturbed:
            causes = ", ".join(NAMES.get(kind, kind) for kind in self.kinds)
            said.append(f"{_runs(self.disturbed)} disturbed{f' by {causes}' if causes else ''};")
            again = self.disturbed - self.without_figure
            parts = [f"{again} measured again"] if again else []
            if self.without_figure:
                parts.append(f"{self.without_figure} left out for good")
            said.append(f"{' and '.join(parts)}.")
        if self.still_warming:
            said.append(f"{_runs(self.still_warming)} still warming up.")
        if off := switched_off(self.unwatched):
            said.append(f"Not watched, because switched off: {', '.join(off)}.")
        return " ".join(said)


def data_quality(history: Sequence[RunLine], unwatched: Iterable[str]) -> DataQuality:
    """Counted over all runs of the study, those that were measured again included."""
    disturbed = [line for line in history if line.run.state == RunState.DISTURBED]
    kinds: Counter[str] = Counter()
    for line in sorted(disturbed, key=lambda line: line.run.pk):
        kinds.update({found["kind"] for found in line.run.disturbances})
    return DataQuality(
        disturbed=len(disturbed),
        without_figure=sum(line.again is None for line in disturbed),
        still_warming=sum(
            line.run.state == RunState.OK and line.run.still_warming for line in history
        ),
        kinds=dict(kinds.most_common()),
        unwatched=tuple(sorted(unwatched)),
    )


def _runs(count: int) -> str:
    return f"{count} run{'s were' if count != 1 else ' was'}"
