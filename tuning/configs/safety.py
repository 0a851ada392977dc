"""What a config gives up: the durability class of its values, by the catalogue's rules."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Durability, Knob
from tuning.catalogue.loader import load_catalogue


def durability_of(knobs: Mapping[str, str]) -> Durability:
    """The class of a set of normalised knobs: that of its least safe value."""
    return max((given for given, _ in losses(knobs).values()), default=Durability.D0)


def too_unsafe(knobs: Mapping[str, str], allowed: Durability) -> list[tuple[str, str]]:
    """(name, reason) of every normalised knob that a study of that class may not have."""
    return [
        (name, f"{knobs[name]} gives up {loses}: class {given}, but this study is {allowed}")
        for name, (given, loses) in losses(knobs).items()
        if given > allowed
    ]


def loss(knob: Knob, text: str, allowed: Durability) -> tuple[Durability, str] | None:
    """Class and what is lost with a value by itself, in any spelling; None where it is allowed.

    It looks at no server: a value that is unsafe where it came from is unsafe here as well.
    """
    for rule in knob.durability:
        spelled = {value.lower(): value for value in rule.values | rule.not_values}
        if rule.durability > allowed and rule.matches(spelled.get(text.lower(), text), {}):
            return rule.durability, rule.loses
    return None


def losses(knobs: Mapping[str, str]) -> dict[str, tuple[Durability, str]]:
    """Class of, and what is lost with, every normalised knob below D0."""
    found: dict[str, tuple[Durability, str]] = {}
    for name, value in knobs.items():
        knob = load_catalogue().get(name)
        for rule in knob.durability if knob else ():
            if rule.matches(value, knobs):
                found[name] = (rule.durability, rule.loses)
    return found
