"""A confirmed winner that can be tested line by line, and what that has measured so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuning.statistics.data import Observation


@dataclass(frozen=True)
class Variant:
    """The whole without some of its lines.

    refusal: why it is not measured, "" if it is. same_as: the candidate with the same effective
    values, which is measured for it.
    """

    without: frozenset[str]
    refusal: str = ""
    same_as: str = ""


@dataclass(frozen=True)
class Whole:
    """A winner whose fresh pairs confirmed it.

    lead: log of its confirmed ratio to the baseline, positive is better. run_noise as in
    `Analysis`. knobs, baseline_knobs: what both set. kept: lines that are never removed, and why.
    variants: by name. runs: the ended runs of variants and of the whole, in blocks. rounds: those
    of the reduced config, the whole and the baseline. measure_s: how long its pairs measured, 0 if
    as long as the blocks; longer_s: how much longer that is. Its rounds are as long. runs_left:
    how many more runs its ablation may take, None is "no limit".
    """

    name: str
    lead: float
    run_noise: float | None
    knobs: Mapping[str, str]
    baseline_knobs: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    runs: tuple[Observation, ...] = ()
    rounds: tuple[Observation, ...] = ()
    measure_s: int = 0
    longer_s: float = 0.0
    runs_left: int | None = None

    def variant(self, without: frozenset[str]) -> str:
        """The name of the variant that lacks these lines; "" if there is none yet."""
        return next((name for name, one in self.variants.items() if one.without == without), "")

    def measured_as(self, variant: str) -> str:
        """The candidate whose runs are those of a variant."""
        return self.variants[variant].same_as or variant

    def knobs_without(self, lines: frozenset[str]) -> dict[str, str]:
        """Return the knobs without these lines, which have the baseline's values again."""
        left = {name: value for name, value in self.knobs.items() if name not in lines}
        return left | {name: value for name, value in self.baseline_knobs.items() if name in lines}
