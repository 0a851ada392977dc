"""Names in figures: Plotly reads a part of HTML, and in hover templates its own variables too."""

from __future__ import annotations

from html import escape
from textwrap import wrap


def plain(text: str) -> str:
    """A name as Plotly shows it unchanged: no tag, entity or `%{variable}` of it is read."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def wrapped(text: str, width: int) -> str:
    """The same in lines of so many characters: neither a hover box nor a tick wraps by itself."""
    return "<br>".join(plain(line) for line in wrap(text, width))
