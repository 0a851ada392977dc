"""What the templates need to show numbers, states and form fields alike everywhere."""

from __future__ import annotations

from django.forms import BoundField
from django.template import Library

from advisor.pages import formatting
from benchmarks.models import RunState

register = Library()

TONES = {
    "ok": "ok",
    "finished": "ok",
    "running": "busy",
    "preparing": "busy",
    "queued": "",
    "cancelled": "",
    "failed": "bad",
    "disturbed": "warn",
    "lost": "warn",
}

register.filter("decimals", formatting.decimals)
register.filter("significant", formatting.significant)
register.filter("percent_change", formatting.percent_change)
register.filter("megacycles", formatting.megacycles)
register.filter("duration", formatting.duration)
register.filter("rough_duration", formatting.rough_duration)
register.filter("byte_size", formatting.byte_size)


@register.filter
def outcome_label(value: str) -> str:
    """An outcome's or run state's name for people; words it does not know stay as they are."""
    return str(dict(RunState.choices).get(value, value))


@register.filter
def outcome_tone(value: str) -> str:
    """The badge class of a run's or study's state: ok, busy, bad, or nothing for neutral."""
    return TONES.get(value, "bad" if value in RunState.values else "")


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
