"""Names in figures: Plotly interprets some HTML, and variables in hover templates."""

from __future__ import annotations

from html import escape
from textwrap import wrap


def plain(text: str) -> str:
    """A name that Plotly shows unchanged: tags, entities and `%{variable}` are escaped."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def wrapped(text: str, width: int) -> str:
    """The same, wrapped at `width` characters: hover boxes and ticks do not wrap by themselves."""
    return "<br>".join(plain(line) for line in wrap(text, width))
