"""Filters that show numbers, states and form fields alike everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from django.forms import BoundField
from django.template import Library
from django.utils.timesince import timesince

from advisor.version import version
from advisor.wording import formatting
from advisor.wording.hosts import PROBLEM_WORDS
from advisor.wording.spaces import knob_text
from advisor.wording.words import MAY_COST
from benchmarks.models import RunState
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.target import ServerTraits
from tuning.comparison.devices import Cell
from tuning.errors import UnknownTemplate
from tuning.models import DurabilityClass
from tuning.results.conditions import NAMES
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.statistics.gate import percent_text
from tuning.statistics.ratios import Spread
from tuning.study_templates.loader import load_template

register = Library()

# Run states that are not named are failures.
TONES = dict.fromkeys(RunState.values, "bad") | {
    "ok": "ok",
    "finished": "ok",
    "running": "busy",
    "preparing": "busy",
    "queued": "",
    "cancelled": "",
    "failed": "bad",
    "disturbed": "warn",
    "lost": "warn",
    "cut_short": "warn",
    "pass": "ok",
    "fail": "bad",
    "undecided": "warn",
}

_LABELS = dict(RunState.choices)

# The fate of a line (tuning.configs.line.Fate) and what was done with a knob (notes.Action).
ACTION_TONES = {
    "measured": "ok",
    "applied": "ok",
    "kept": "",
    "translated": "busy",
    "removed": "warn",
    "adjusted": "busy",
    "dropped": "warn",
    "held": "warn",
    "refused": "bad",
}

register.simple_tag(version, name="program_version")
register.filter("decimals", formatting.decimals)
register.filter("significant", formatting.significant)
register.filter("percent_change", formatting.percent_change)
register.filter("megacycles", formatting.megacycles)
register.filter("gigahertz", formatting.gigahertz)
register.filter("share", formatting.share)
register.filter("confidence_text", formatting.confidence_text)
register.simple_tag(formatting.change_range)
register.filter("duration", formatting.duration)
register.filter("rough_duration", formatting.rough_duration)
register.filter("byte_size", formatting.byte_size)
register.filter("shortened", formatting.shortened)
register.filter("unbroken", formatting.unbroken)
register.filter("kind_words", kind_words)


@register.filter
def knob_value(value: object, name: str) -> str:
    """Format the value of a setting: bytes with their unit."""
    return knob_text(name, str(value))


@register.filter
def middle(cell: Cell | None, name: str) -> float | None:
    """The median of one of a cell's figures; None where it was not measured."""
    found: Spread | None = getattr(cell, name) if cell else None
    return found.median if found else None


@register.filter
def coordinate(value: float) -> str:
    """A length in a drawing: a point for the decimals, whatever the language."""
    return f"{value:.1f}"


@register.filter
def in_words(kind: str) -> str:
    """A kind of event, cost or state in a word or two."""
    return kind.replace("_", " ").replace("-", " ")


@register.filter
def all_of(values: Iterable[object]) -> str:
    """ "8, 16 and 32"."""
    return formatting.names_text([str(value) for value in values])


@register.filter
def ago(moment: datetime) -> str:
    """How long ago, in one unit: "3 days ago", "just now"."""
    since = timesince(moment, depth=1)
    return "just now" if since.startswith("0") else f"{since} ago"


@register.filter
def outcome_label(value: str) -> str:
    """The display name of an outcome or run state; an unknown one is returned unchanged."""
    return str(_LABELS.get(value, value))


@register.filter
def outcome_tone(value: str) -> str:
    """The badge class of a run's or study's state or a gate's verdict: ok, busy, warn, bad, or
    nothing for neutral.
    """
    return TONES.get(value, "")


@register.filter
def interval_change(found: Estimate | None) -> str:
    """The bounds of a ratio as signed changes."""
    if found is None or found.low is None:
        return formatting.ABSENT
    return formatting.change_range(*found.bounds)


@register.filter
def signed(value: float | None) -> str:
    """A figure that is a change, with its sign and without places: 31.2 -> +31."""
    return formatting.ABSENT if value is None else f"{value:+.0f}".replace("-", formatting.MINUS)


@register.filter
def gate_percent(value: float | None) -> str:
    """A change in percent without the unit, rounded as in a gate's sentences."""
    if value is None:
        return formatting.ABSENT
    return percent_text(value).removesuffix(" %").replace("-", formatting.MINUS)


@register.filter
def metric_name(value: str) -> str:
    """A metric's name beside a change of it."""
    return FULL_NAMES[Metric(value)]


@register.filter
def disturbance_name(kind: str) -> str:
    """Describe the disturbances of a run."""
    return NAMES.get(kind, kind)


@register.filter
def server_name(binary: ServerBinary) -> str:
    """Return flavour and version, such as "MySQL 9.7.4"."""
    return str(ServerTraits.of(binary))


@register.filter
def problem_name(code: str) -> str:
    """A host's problem in two or three words."""
    return PROBLEM_WORDS.get(code, code)


@register.filter
def action_tone(value: str) -> str:
    """The badge class of a line's result."""
    return ACTION_TONES.get(value, "")


@register.filter
def durability_tone(value: str) -> str:
    """The badge class of a durability class."""
    return {"D0": "ok", "D1": "warn", "D2": "bad"}.get(value, "")


@register.filter
def may_cost(value: str) -> str:
    """Describe what a crash may cost with a durability class, in one sentence."""
    return MAY_COST[DurabilityClass(value)]


@register.filter
def template_title(name: str) -> str:
    """The question of a template; "" of one that is not there any more."""
    with suppress(UnknownTemplate):
        return load_template(name).title
    return ""


@register.inclusion_tag("configs/_durability.html")
def durability_field(field: BoundField) -> dict[str, object]:
    """The choice of a durability class, each with what it may cost."""
    return {"field": field, "costs": [(one.value, cost) for one, cost in MAY_COST.items()]}


@register.inclusion_tag("_field.html")
def form_field(field: BoundField, placeholder: object = "") -> dict[str, object]:
    """A form field with its label, help and errors, tied together for screen readers."""
    described = [f"{field.auto_id}_{kind}" for kind in ("help", "error")]
    shown = [
        name
        for name, is_there in zip(described, (field.help_text, field.errors), strict=True)
        if is_there
    ]
    attributes: dict[str, str | bool] = {}
    if shown:
        attributes["aria-describedby"] = " ".join(shown)
    if placeholder:
        attributes["placeholder"] = str(placeholder)
    return {"field": field, "widget": field.as_widget(attrs=attributes)}
