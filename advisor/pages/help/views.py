"""The help: each number and word in plain words, and the documents."""

from __future__ import annotations

import mimetypes
import re

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt

from advisor.wording.definitions import BY_KEY

#: The folders of documents, and the folders of the files that documents show and link to.
PAGES = r"\.|docs(/.+)?|bench(/results)?"
FILES = r"docs(/.+)?"


@require_GET
def help_page(request: HttpRequest) -> HttpResponse:
    """Show what each number and word means."""
    return render(request, "help/detail.html", {"definitions": BY_KEY.values()})


@require_GET
def document(request: HttpRequest, path: str) -> HttpResponse:
    """Show a document, or send what documents show and link to.

    `path` is relative to the program's folder, so that links between documents hold here. Raises
    Http404 if it is no document, nor a file of `docs/`.
    """
    try:
        file = (settings.BASE_DIR / path).resolve(strict=True)
    except (OSError, ValueError):  # not there, too long for a path, or with a NUL
        raise Http404(f"There is no document {path}.") from None
    is_page = file.suffix == ".md"
    is_ours = file.is_file() and file.is_relative_to(settings.BASE_DIR)
    folder = file.parent.relative_to(settings.BASE_DIR).as_posix() if is_ours else ""
    if not re.fullmatch(PAGES if is_page else FILES, folder):
        raise Http404(f"There is no document {path}.")
    if not is_page:
        content_type = mimetypes.guess_type(file.name)[0] or "text/plain"
        return HttpResponse(file.read_bytes(), content_type=content_type)
    title, page = _rendered(file.read_text(encoding="utf-8"))
    return render(request, "help/document.html", {"title": title, "page": page})


def _rendered(text: str) -> tuple[str, str]:
    """Return the title and the HTML of a document. Comments go, other HTML is escaped."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(re.sub(r"<!--.*?-->\n", "", text))
    headings = [
        (token, tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    for token, words in headings:
        token.attrSet("id", slugify(words))
    title = headings[0][1] if headings else "Document"
    return title, markdown.renderer.render(tokens, markdown.options, {})
