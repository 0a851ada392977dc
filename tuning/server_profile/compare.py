"""Two profiles of one server, before and after a change: what differs, not what caused it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuning.catalogue.loader import load_catalogue
from tuning.configs.values import readable_value
from tuning.errors import InvalidRequest
from tuning.server_profile.figures import Figure, figure, figures_of
from tuning.server_profile.profile import Profile, ratio

#: Loads that differ by less than this are called alike.
_ALIKE = 1.2
_NO_CAUSE = (
    "Before and after are two moments of one server. Hour, load and data changed too, so no "
    "difference here shows what caused it. A study measures causes."
)


@dataclass(frozen=True)
class FigurePair:
    """A figure in both profiles.

    change: after divided by before; None if one is unknown or zero.
    per_statement: change of a rate divided by the change of the number of statements.
    """

    before: Figure
    after: Figure
    change: float | None
    per_statement: float | None


@dataclass(frozen=True)
class ProfileComparison:
    """The differences. `settings`: values before and after, by variable. `limits`: sentences."""

    settings: dict[str, tuple[str | None, str | None]]
    figures: list[FigurePair]
    limits: list[str]

    @property
    def shown_settings(self) -> dict[str, tuple[str, ...]]:
        """The settings for people: sizes with their units."""
        knobs = load_catalogue()
        return {
            name: tuple(
                "–" if one is None else readable_value(knobs.get(name), one) for one in pair
            )
            for name, pair in self.settings.items()
        }


def compare(before: Profile, after: Profile) -> ProfileComparison:
    """Compare two profiles. Raises InvalidRequest about `after` for another or earlier server."""
    if before.flavour is not after.flavour:
        reason = f"{after.target} is another server than {before.target}"
        raise InvalidRequest([("after", reason)])
    if after.read_at < before.read_at + before.seconds:
        raise InvalidRequest([("after", "was read before the other one: exchange them")])
    load = ratio(figure(after, "questions"), figure(before, "questions"))
    return ProfileComparison(
        settings={
            name: (before.variables.get(name), after.variables.get(name))
            for name in sorted(before.variables.keys() | after.variables.keys())
            if before.variables.get(name) != after.variables.get(name)
        },
        figures=_pairs(before, after, load),
        limits=_limits(before, after, load),
    )


def _pairs(before: Profile, after: Profile, load: float | None) -> list[FigurePair]:
    pairs = []
    for old, new in zip(figures_of(before), figures_of(after), strict=True):
        change = ratio(new.value, old.value)
        is_rate = old.unit in ("per second", "bytes per hour") and old.name != "questions"
        per_statement = ratio(change, load) if is_rate else None
        pairs.append(FigurePair(old, new, change, per_statement))
    return pairs


def _limits(before: Profile, after: Profile, load: float | None) -> list[str]:
    limits = [_NO_CAUSE]
    if load is None:
        limits.append("How much the load differs is unknown.")
    elif not 1 / _ALIKE < load < _ALIKE:
        limits.append(
            f"The load differs: {load:.3g} times as many statements per second. Read the figures "
            "for each statement."
        )
    if before.version != after.version:
        limits.append(f"The version changed from {before.version} to {after.version}.")
    old, new = ({size.schema_name for size in one.sizes} for one in (before, after))
    if old and new and old.isdisjoint(new):
        limits.append("No schema is in both profiles: are they of one server?")
    if after.second.get("Uptime", math.inf) < after.read_at - before.read_at:
        limits.append(
            "The server was restarted in between: means since the start are of the time after it."
        )
    return limits
