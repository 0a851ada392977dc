"""The durability class of a config and what it may lose, by the catalogue's rules."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Durability, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.variables import DEDICATED, FLUSH_METHOD, dedicated_chooses_flush

_CHOSEN_BY_DEDICATED = "O_DIRECT_NO_FSYNC"


def durability_of(knobs: Mapping[str, str], target: ServerTraits | None = None) -> Durability:
    """The class of a set of normalised knobs: that of its least safe value.

    With a `target`, values that this server chooses because of them count as well.
    """
    return max((given for given, _ in losses(knobs, target).values()), default=Durability.D0)


def too_unsafe(
    knobs: Mapping[str, str], allowed: Durability, target: ServerTraits | None = None
) -> list[tuple[str, str]]:
    """(name, reason) of every normalised knob that a study of that class may not have."""
    return [
        (
            name,
            f"{knobs[name]} may lose {loses}: class {given}, but only {allowed} is allowed"
            + (f"; set {FLUSH_METHOD} = O_DIRECT" if name == DEDICATED else ""),
        )
        for name, (given, loses) in losses(knobs, target).items()
        if given > allowed
    ]


def leaves_out_fsync(knobs: Mapping[str, str], target: ServerTraits) -> bool:
    """Whether the server itself chooses O_DIRECT_NO_FSYNC with these normalised knobs.

    MySQL 8.0 does if innodb_dedicated_server is ON and no flush method is set.
    """
    return (
        knobs.get(DEDICATED) == "ON"
        and FLUSH_METHOD not in knobs
        and dedicated_chooses_flush(target)
    )


def loss(knob: Knob, text: str, allowed: Durability) -> tuple[Durability, str] | None:
    """Class and possible loss of a single value, in any spelling; None if it is allowed.

    Independent of the server: a value that is unsafe on one is unsafe on all.
    """
    for rule in knob.durability:
        spelled = {value.lower(): value for value in rule.values | rule.not_values}
        if rule.durability > allowed and rule.matches(spelled.get(text.lower(), text), {}):
            return rule.durability, rule.loses
    return None


def may_lose(name: str, value: str, lost: tuple[Durability, str], remark: str = "") -> str:
    """ "sync_binlog = 0 may lose ... (D1)", the wording of all files and pages."""
    given, loses = lost
    return f"{name} = {value}{remark} may lose {loses} ({given})"


def losses(
    knobs: Mapping[str, str], target: ServerTraits | None = None
) -> dict[str, tuple[Durability, str]]:
    """Class and possible loss of every normalised knob below D0.

    With a `target`, `knobs` must be a complete config: an unsafe value that the server chooses by
    itself is attributed to the knob that makes it choose.
    """
    found: dict[str, tuple[Durability, str]] = {}
    for name, value in knobs.items():
        knob = load_catalogue().get(name)
        for rule in knob.durability if knob else ():
            if rule.matches(value, knobs):
                found[name] = (rule.durability, rule.loses)
    if target is not None and leaves_out_fsync(knobs, target):
        for rule in load_catalogue().knobs[FLUSH_METHOD].durability:
            if rule.matches(_CHOSEN_BY_DEDICATED, knobs):
                loses = f"{rule.loses} ({target} chooses {_CHOSEN_BY_DEDICATED} with it)"
                found[DEDICATED] = (rule.durability, loses)
    return found
