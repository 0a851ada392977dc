"""Rights of the caller, for templates."""

from __future__ import annotations

from typing import Any

from django.template import Context, Library

from advisor.access import callers

register = Library()


@register.simple_tag(takes_context=True)
def may(context: Context, view_name: str, thing: Any = None, method: str = "POST") -> bool:
    """`{% may "study-cancel" study as may_change %}`."""
    return callers.may(callers.caller_of(context["request"]), view_name, thing, method)
