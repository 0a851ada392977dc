"""How far a study's runs can be trusted: the disturbed, the still warming, the unwatched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from benchmarks.models import Device, Run, RunState
from tuning.models import Study
from tuning.results.history import run_history, slots_of

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
class Trust:
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
        off = [line.partition(":")[0] for line in self.unwatched if line.endswith("switched off")]
        if off:
            said.append(f"Not watched, because switched off: {', '.join(off)}.")
        return " ".join(said)


def trust_of(study: Study) -> Trust:
    """Counted over all runs of the study, those that were measured again included."""
    disturbed = disturbed_runs(study)
    kinds: Counter[str] = Counter()
    for run in disturbed:
        kinds.update({found["kind"] for found in run.disturbances})
    ended = study.slots.exclude(run__state__in=[RunState.QUEUED, RunState.RUNNING])
    seen = ended.values_list("run__conditions", flat=True)
    unwatched = {line for conditions in seen for line in conditions.get("unwatched", [])}
    return Trust(
        disturbed=len(disturbed),
        without_figure=ended.filter(run__state=RunState.DISTURBED).count(),
        still_warming=ended.filter(run__state=RunState.OK, run__still_warming=True).count(),
        kinds=dict(kinds.most_common()),
        unwatched=tuple(sorted(unwatched)),
    )


def disturbed_runs(study: Study) -> list[Run]:
    """Every disturbed run of the study, in the order of their ends: the newest of each slot and
    those that it took the place of.
    """
    lines = run_history(slots_of(study))
    found = [line.run for line in lines if line.run.state == RunState.DISTURBED]
    return sorted(found, key=lambda run: run.pk)


def baseline_is_disturbed(study: Study, device: Device) -> str:
    """Why the baseline has no figure on the device, when all its runs there were disturbed."""
    slots = study.slots.filter(candidate__is_baseline=True, device=device)
    runs = [slot.run for slot in slots.select_related("run")]
    if not runs or any(run.state != RunState.DISTURBED for run in runs):
        return ""
    last = max(runs, key=lambda run: run.pk)
    return (
        f"every run of the baseline on {device} was disturbed, so nothing can be compared; "
        f"the last one: {last.reason}. Measure when the host is quiet, or widen the limits "
        "(docs/settings.md)"
    )


def _runs(count: int) -> str:
    return f"{count} run{'s were' if count != 1 else ' was'}"
