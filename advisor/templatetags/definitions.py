"""Links from a number to what it means."""

from __future__ import annotations

from functools import lru_cache

from django.template import Library
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from advisor.wording.definitions import BY_KEY, OF_A_STUDY, Definition
from advisor.wording.formatting import unbroken

register = Library()


@register.simple_tag
@lru_cache(maxsize=256)  # a page has dozens
def term(key: str, text: str = "") -> SafeString:
    """`{% term "throughput" %}`: a link to its definition, with the first sentence as a hint."""
    one = BY_KEY[key]
    hint = one.text.partition(". ")[0].rstrip(".") + "."
    address = f"{reverse('help')}#{one.key}"
    return format_html(
        '<a class="term" href="{}" title="{}">{}</a>', address, hint, unbroken(text or one.title)
    )


@register.simple_tag
def study_definitions(ablates: bool = False) -> list[Definition]:
    """Definitions that stand on a study's own page."""
    keys = [*OF_A_STUDY, *(["testing-each-line"] if ablates else [])]
    return [BY_KEY[key] for key in keys]
