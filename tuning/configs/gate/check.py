"""The gate: only knobs of the catalogue, with values the target really takes, get through.

These are its first two stages (names, types, units, ranges, version, durability; rules across
knobs). What the server itself makes of a config is found by a trial start and read back
(`benchmarks.servers.trial`, `tuning.configs.gate.readback`, `tuning.configs.gate.stages`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.files.cnf import Setting
from tuning.configs.files.imports import ImportReport, import_settings
from tuning.configs.gate.circumstances import UNKNOWN, Circumstances
from tuning.configs.gate.safety import (
    durability_of as durability_of,  # part of the gate's interface
)
from tuning.configs.notes import Note
from tuning.errors import InvalidConfig, Problem


@dataclass(frozen=True)
class Checked:
    """Normalised knobs (lower case, bytes as numbers, ON/OFF) and what is worth knowing."""

    knobs: dict[str, str]
    notes: tuple[Note, ...] = ()


def check(
    settings: Iterable[Setting],
    target: ServerTraits,
    *,
    source: str = "my.cnf",
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
) -> Checked:
    """Check the settings of a my.cnf; raises InvalidConfig with every problem found."""
    report = import_settings(
        settings, target, source=source, durability=durability, circumstances=circumstances
    )
    return accepted(report)


def check_knobs(
    knobs: Mapping[str, str | None],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
) -> Checked:
    """The same gate for knobs that come from no file (presets, translations)."""
    return accepted(
        report_knobs(
            knobs, target, source=source, durability=durability, circumstances=circumstances
        )
    )


def report_knobs(
    knobs: Mapping[str, str | None],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
    fit: bool = True,
) -> ImportReport:
    """What the gate says of knobs that come from no file; never raises."""
    report = import_settings(
        [Setting(name, value, line=0) for name, value in knobs.items()],
        target,
        source=source,
        durability=durability,
        circumstances=circumstances,
        fit=fit,
    )
    return replace(
        report,
        value_problems=tuple(map(_without_line, report.value_problems)),
        rule_problems=tuple(map(_without_line, report.rule_problems)),
    )


def accepted(report: ImportReport) -> Checked:
    """The knobs of a report; raises InvalidConfig when it has problems."""
    if report.problems:
        raise InvalidConfig(report.problems)
    return Checked(report.knobs, report.notes)


def _without_line(problem: Problem) -> Problem:
    return replace(problem, line=None)
