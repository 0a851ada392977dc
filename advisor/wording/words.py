"""The words that pages, API and terminal share: for durability, answers, devices, servers."""

from __future__ import annotations

from collections.abc import Collection

from benchmarks.models import Device
from tuning.catalogue.target import ServerTraits
from tuning.comparison.devices import device_names
from tuning.configs.translation.origin import RELEASES
from tuning.models import DurabilityClass, Recommendation
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.verdict import VerdictKind
from tuning.studies.request import OLDER

# What a class may cost, as a DBA has to answer for it.
MAY_COST = {
    DurabilityClass.D0: "Loses nothing: every commit is on disk before the client hears of it.",
    DurabilityClass.D1: (
        "A crash or a power failure may lose the last second or so of committed transactions. "
        "The database itself stays whole."
    ),
    DurabilityClass.D2: (
        "A crash or a power failure may leave the database corrupt, so that only a backup or a "
        "replica brings it back."
    ),
}

STUDY_MAY_HAVE = [
    (DurabilityClass.D0.value, "D0: only what loses nothing"),
    (DurabilityClass.D1.value, "D1: also what may lose the last commits"),
    (DurabilityClass.D2.value, "D2: also what may corrupt the database"),
]

# How sure the config to use is, by the verdict.
ANSWERS = {
    VerdictKind.WINNER: "measurably best",
    VerdictKind.TIE: "best of a tie",
    VerdictKind.NO_DIFFERENCE: "no measurable difference",
    VerdictKind.BASELINE_BEST: "the others are worse",
    VerdictKind.NOTHING_FOUND: "the search found nothing better",
}
# Without a confirmed lead it is the baseline that is recommended.
CONFIRMED = {
    ConfirmationState.CONFIRMED: "{}, confirmed",
    ConfirmationState.WITHDRAWN: "another's lead was not confirmed",
    ConfirmationState.UNFINISHED: "another's lead could not be confirmed",
}
OF_ITS_OWN_KIND = "An emulated device is of the kind it stands for: leave this empty."
_LEADS = (VerdictKind.WINNER, VerdictKind.TIE)


def how_sure(found: Recommendation) -> str:
    """How far a recommendation is shown: "best of a tie, confirmed"; its study comes along."""
    known = found.kind in list(VerdictKind)
    answer = ANSWERS.get(VerdictKind(found.kind)) if known else None
    answer = answer or "nothing to compare"
    if found.confirmation in list(ConfirmationState):
        return CONFIRMED[ConfirmationState(found.confirmation)].format(answer)
    unconfirmed = found.kind in _LEADS and not found.study.confirms
    return f"{answer}, not measured afresh" if unconfirmed else answer


def devices_to_name(devices: Collection[Device]) -> set[int]:
    """Those that are named beside their figures: each of several, and an emulated one always."""
    return {one.pk for one in devices if len(devices) > 1 or one.emulation_label}


def names_beside_figures(devices: Collection[Device]) -> dict[int | None, str]:
    """Their short names."""
    names = device_names(devices)
    return {pk: names[pk] for pk in devices_to_name(devices)}


def target_choices() -> list[tuple[str, str]]:
    """Servers a config can be made for: what `parse_traits` reads, and the name for people."""
    return [(_traits_text(traits), str(traits)) for traits in RELEASES]


def origin_choices() -> list[tuple[str, str]]:
    """What a file may have been written for; "" takes it as it is."""
    series = {
        f"{traits.flavour} {_series(traits)}": str(traits).rpartition(" ")[0]
        for traits in RELEASES
    }
    named = [(value, f"{name} {value.partition(' ')[2]}") for value, name in series.items()]
    return [
        ("", "This server: take it as it is"),
        (OLDER, "An older version, not known which: translate"),
        *named,
    ]


def _series(traits: ServerTraits) -> str:
    return ".".join(map(str, traits.series))


def _traits_text(traits: ServerTraits) -> str:
    return f"{traits.flavour} {'.'.join(map(str, traits.version))}"
