"""What the templates need of buttons: which may be used, and which was."""

from __future__ import annotations

from typing import Any

from django.template import Context, Library
from django.utils.safestring import SafeString, mark_safe

from advisor.access import callers

register = Library()


@register.simple_tag(takes_context=True)
def may(context: Context, view_name: str, thing: Any = None, method: str = "POST") -> bool:
    """`{% may "study-cancel" study as may_change %}`."""
    return callers.may(callers.caller_of(context["request"]), view_name, thing, method)


@register.simple_tag(takes_context=True)
def focus_after(context: Context, *views: str) -> SafeString:
    """`<button{% focus_after "study-pause" %}>`: it is where the button was that was just used.

    It gets the focus, and a screen reader says with it what has happened.
    """
    # A fragment would take the messages away from the page that is loading.
    said = () if context["request"].htmx else context["messages"]
    if not any(message.extra_tags in views for message in said):
        return SafeString()
    return mark_safe(' autofocus aria-describedby="said"')
