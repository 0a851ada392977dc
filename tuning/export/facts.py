"""The content of an export: the recommended knobs and the evidence for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

from tuning.catalogue.target import ServerTraits
from tuning.configs.notes import Note
from tuning.scale_model.model import ScaleModel
from tuning.statistics.data import Metric
from tuning.statistics.ranking import Interval

Made = TypeVar("Made")


@dataclass(frozen=True)
class ObjectiveEffect:
    """The effect on the metric that decided: its value divided by the baseline's."""

    metric: Metric
    ratio: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Effect:
    """The effect measured with one workload; None is "no figure".

    `ratio` is tpmP divided by the baseline's, from `fresh_pairs` pairs that confirmed it or, if
    that is 0, from `blocks` blocks; `objective` is what decided where that was not tpmP, from the
    same; `workload` is text for people.
    """

    workload: str
    ratio: float | None
    runs: int
    failures: int
    blocks: int
    tpmP: float | None = None
    p95_ms: float | None = None
    baseline_tpmP: float | None = None
    baseline_p95_ms: float | None = None
    interval: Interval | None = None
    fresh_pairs: int = 0
    objective: ObjectiveEffect | None = None


@dataclass(frozen=True)
class LinesEvidence:
    """What some lines contribute, measured without them; most often it is one line.

    text: the figures, or why there are none, in words. ratio, interval: the study's metric with
    them divided by that without; None without a figure. state: a value of
    `tuning.statistics.removal.RemovalState`.
    """

    lines: Mapping[str, str]
    state: str
    text: str
    ratio: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class ExportFacts:
    """A recommendation and its evidence, as text and plain values.

    `knobs` are normalised and passed the gate for `server`. `candidate_variables` and
    `baseline_variables` are SHOW GLOBAL VARIABLES (lower-case names) of an OK run of each, empty
    if there is none. `baseline_knobs` are those that the baseline set: only a baseline that set
    nothing shows the server's defaults. `date` is that of the study's end. `not_tested` adds to
    the usual list. `proportion` is the memory and the data of the study in words. Of a scale
    model `model` the knobs are those measured; `as_measured` leaves them so, otherwise the lines
    are sized back to the real server. `apart` is what taking the winner apart found of its lines;
    `left_out` are those of them that the candidate lacks for it, `all_lines` the facts of the
    winner with them.
    `recovery_tested`: its crash recovery was timed, which the verdict then says.
    """

    study: str
    date: str
    device: str
    server: ServerTraits
    candidate: str
    baseline: str
    knobs: Mapping[str, str]
    effects: Sequence[Effect]
    source: str = ""
    verdict: str = ""
    data_bytes: int | None = None
    notes: Sequence[Note] = ()
    candidate_variables: Mapping[str, str] = field(default_factory=dict)
    baseline_variables: Mapping[str, str] = field(default_factory=dict)
    not_tested: Sequence[str] = ()
    study_url: str = ""
    baseline_knobs: Mapping[str, str] = field(default_factory=dict)
    proportion: str = ""
    model: ScaleModel | None = None
    as_measured: bool = False
    recovery_tested: bool = False
    apart: Sequence[LinesEvidence] = ()
    left_out: Sequence[LinesEvidence] = ()
    all_lines: ExportFacts | None = None

    def own(self, name: str) -> LinesEvidence | None:
        """What taking the winner apart found of a line that is kept; None if nothing."""
        kept = (one for one in self.apart if one not in self.left_out)
        return next((one for one in kept if name in one.lines), None)

    @property
    def keeps_baseline(self) -> bool:
        """Whether the recommendation is to keep the baseline."""
        return self.candidate == self.baseline

    @cached_property
    def made(self) -> dict[object, Any]:
        """What was made of these facts, which never change: see `made_once`."""
        return {}


def made_once(make: Callable[[ExportFacts], Made]) -> Callable[[ExportFacts], Made]:
    """What a function makes of the same facts is made once; it is only to be read.

    A file and the page around it ask for the lines of a recommendation a dozen times.
    """

    @wraps(make)
    def known_or_made(facts: ExportFacts) -> Made:
        if make not in facts.made:
            facts.made[make] = make(facts)
        return cast("Made", facts.made[make])

    return known_or_made
