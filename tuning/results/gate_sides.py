"""In what a gate's two sides differ, by the values that their servers ran with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.counted import counted
from benchmarks.models import BinaryLog, Run
from tuning.catalogue.knob import Durability
from tuning.configs.effective.differences import (
    EffectiveSettings,
    SettingDifference,
    setting_differences,
)
from tuning.configs.effective.durability import may_lose
from tuning.configs.effective.readback import effective_values
from tuning.models import Candidate
from tuning.results.evidence import traits_of
from tuning.results.slot_rows import RunRow


@dataclass(frozen=True)
class GateSides:
    """Both sides as they ran in one pair. differences: the settings that differ.

    binary_log: what was asked for of both.
    """

    candidate: EffectiveSettings
    baseline: EffectiveSettings
    differences: Sequence[SettingDifference]
    binary_log: BinaryLog = BinaryLog.DEFAULT

    @property
    def remarks(self) -> list[str]:
        """What whoever reads the verdict has to know: that unequal things were compared."""
        found = []
        ours, theirs = self.candidate, self.baseline
        if ours.durability != theirs.durability:
            lost = [
                f"with the {side} {_losses(ran)}"
                for side, ran in (("candidate", ours), ("baseline", theirs))
                if ran.durability > Durability.D0
            ]
            found.append(
                f"The durability differs, {ours.durability} of the candidate and "
                f"{theirs.durability} of the baseline: {'; '.join(lost)}."
            )
        if ours.logs != theirs.logs and None not in (ours.logs, theirs.logs):
            side = "candidate" if ours.logs else "baseline"
            found.append(
                f"Only the {side} writes a binary log, so its commits cost more; a gate can have "
                "it on both sides or on none."
            )
        elif (asked := self.binary_log.is_on) is not None and ours.logs == theirs.logs == asked:
            wrote = "Both sides write a" if asked else "Neither side writes a"
            found.append(f"{wrote} binary log, as was asked for.")
        by_default = [one for one in self.differences if one.is_default]
        if by_default and ours.target != theirs.target:
            durable = [one.name for one in by_default if one.is_durability]
            about = f", of durability {', '.join(durable)}" if durable else ""
            differ = counted(len(by_default), "setting", ("differs", "differ"))
            found.append(f"{differ} by the servers' defaults{about}.")
        return found

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "durability": {
                "candidate": self.candidate.durability.value,
                "baseline": self.baseline.durability.value,
            },
            "differences": [asdict(one) for one in self.differences],
        }


#: Of a gate without a pair that is compared.
NOT_KNOWN: dict[str, Any] = {"durability": None, "differences": []}


def sides_of(
    sides: tuple[Candidate, Candidate],
    runs: tuple[RunRow, RunRow],
    binary_log: BinaryLog = BinaryLog.DEFAULT,
) -> GateSides:
    """Candidate and baseline as they ran; reads the runs' variables, which these rows lack."""
    read = dict(Run.objects.filter(pk__in=[run.pk for run in runs]).values_list("pk", "variables"))
    candidate, baseline = (
        EffectiveSettings(traits_of(side.measured_on), read[run.pk], side.config.knobs)
        for side, run in zip(sides, runs, strict=True)
    )
    return GateSides(candidate, baseline, setting_differences(candidate, baseline), binary_log)


def _losses(ran: EffectiveSettings) -> str:
    shown = effective_values(ran.losses, ran.variables, ran.target)
    return ", ".join(may_lose(name, shown[name], lost) for name, lost in ran.losses.items())
