"""Why a server does not have a variable, in words for people."""

from __future__ import annotations

from tuning.catalogue.facts import Facts
from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits, Version
from tuning.catalogue.timeline import reached


def why_absent(knob: Knob, target: ServerTraits) -> str:
    """Why the target does not have a catalogued variable, and its replacement."""
    facts = knob.facts(target)
    successor = load_catalogue().get(facts.successor) if facts.successor else None
    instead = f"; use {successor.name}" if successor and successor.exists_in(target) else ""
    return f"{target} does not have it{_history(knob, facts, target.version)}{instead}"


def _history(knob: Knob, facts: Facts, version: Version) -> str:
    if reached(version, facts.removed):
        return f" (removed in {_text(facts.removed[0])})"
    if facts.default and facts.added:
        return f" (added in {', '.join(_text(release) for release in facts.added)})"
    owners = [FLAVOUR_NAMES[flavour] for flavour, other in knob.flavours.items() if other.default]
    if not owners:
        return ""
    return f" (only in {' and '.join(owners)})"


def _text(version: Version) -> str:
    return ".".join(str(number) for number in version)
