"""The words for durability classes and servers that pages, API and terminal share."""

from __future__ import annotations

from tuning.configs.target import ServerTraits
from tuning.models import DurabilityClass
from tuning.services.checking import known_targets
from tuning.services.requests import OLDER

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


def target_choices() -> list[tuple[str, str]]:
    """Servers a config can be made for: what `parse_traits` reads, and the name for people."""
    return [(_traits_text(traits), str(traits)) for traits in known_targets()]


def origin_choices() -> list[tuple[str, str]]:
    """What a file may have been written for; "" takes it as it is."""
    series = {
        f"{traits.flavour} {_series(traits)}": str(traits).rpartition(" ")[0]
        for traits in known_targets()
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
