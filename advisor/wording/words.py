"""The words that pages, API and terminal share: for durability, answers, devices, servers."""

from __future__ import annotations

from collections import Counter

from benchmarks.counted import counted
from tuning.catalogue.target import RELEASES, ServerTraits
from tuning.comparison.devices import device_names
from tuning.configs.line import Fate
from tuning.creation.config_check import CheckedText
from tuning.models import DurabilityClass, Recommendation, Study
from tuning.results.confidence import certainty_text

# Loss that a durability class may cause, in a DBA's terms.
MAY_COST = {
    DurabilityClass.D0: "Loses nothing: every commit is on disk before it is acknowledged.",
    DurabilityClass.D1: (
        "A crash or a power failure may lose about the last second of committed transactions. "
        "The database itself stays consistent."
    ),
    DurabilityClass.D2: (
        "A crash or a power failure may corrupt the database, which then has to be restored from "
        "a backup or a replica."
    ),
}

STUDY_MAY_HAVE = [
    (DurabilityClass.D0.value, "D0: only configs that lose nothing"),
    (DurabilityClass.D1.value, "D1: also configs that may lose the last commits"),
    (DurabilityClass.D2.value, "D2: also configs that may corrupt the database"),
]


def certainty(found: Recommendation) -> str:
    """How certain a recommendation is; reads its study."""
    return certainty_text(found.kind, found.confirmation, confirms=found.study.confirms)


def summary_of(checked: CheckedText) -> str:
    """Return a checked my.cnf as "Accepted for MySQL 8.4: 7 lines measured, 2 kept."."""
    report = checked.report
    counts = Counter(line.fate for line in report.lines)
    fates = [
        f"{counts[fate]} {fate}" if number else f"{counted(counts[fate], 'line')} {fate}"
        for number, fate in enumerate(fate for fate in Fate if counts[fate])
    ]
    said = ", ".join(fates) or "no lines"
    if report.rule_problems:
        said += f"; {counted(len(report.rule_problems), 'rule')} across lines violated"
    verdict = "Cannot be used on" if report.problems else "Accepted for"
    return f"{verdict} {checked.target}: {said}."


def named_answers(study: Study) -> list[tuple[Recommendation, str]]:
    """Return each recommendation with the short name of its device.

    The only device of a study has no name here, "", unless it is emulated.
    """
    devices = study.devices.all()
    names = device_names(one for one in devices if len(devices) > 1 or one.emulation_label)
    return [(found, names.get(found.device_id, "")) for found in study.recommendations.all()]


def target_choices() -> list[tuple[str, str]]:
    """Servers that a config can be written for: the text for `parse_traits`, and the name."""
    return [(_traits_text(traits), str(traits)) for traits in RELEASES]


def origin_choices() -> list[tuple[str, str]]:
    """Servers that a file may have been written for."""
    series = {
        f"{traits.flavour} {_series(traits)}": str(traits).rpartition(" ")[0]
        for traits in RELEASES
    }
    named = [(value, f"{name} {value.partition(' ')[2]}") for value, name in series.items()]
    return [
        ("", "This version or any older one"),
        *named,
    ]


def _series(traits: ServerTraits) -> str:
    return ".".join(map(str, traits.series))


def _traits_text(traits: ServerTraits) -> str:
    return f"{traits.flavour} {'.'.join(map(str, traits.version))}"
