"""The documents as the app shows them under Help."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.test import Client

DOCUMENTS = sorted(
    path.relative_to(settings.BASE_DIR).as_posix()
    for path in (settings.BASE_DIR / "docs").rglob("*.md")
)

pytestmark = pytest.mark.django_db


def test_every_link_of_every_document_leads_somewhere(admin_client: Client) -> None:
    broken, looked_at = [], set()
    for name in DOCUMENTS:
        page = admin_client.get(f"/help/{name}").content.decode()
        body = page[page.index('<article class="document">') : page.index("</article>")]
        for target in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', body):
            address = urljoin(f"/help/{name}", target)
            if address not in looked_at and admin_client.get(address).status_code != 200:
                broken.append(f"{name}: {target}")
            looked_at.add(address)
    assert broken == []
    assert len(looked_at) > len(DOCUMENTS)


def test_headings_are_targets_and_comments_are_not_shown(admin_client: Client) -> None:
    page = admin_client.get("/help/docs/reference/settings.md").content.decode()
    assert '<h2 id="behind-a-proxy">' in page
    assert "settings: begin" not in page


@pytest.mark.parametrize(
    "path",
    [
        *("manage.py", "docs/../advisor/settings.py", "var/private/first-password", "docs"),
        *("x.md", "docs/%00.md", f"docs/{'long' * 99}.md"),
    ],
)
def test_nothing_but_documents_is_shown(admin_client: Client, path: str) -> None:
    assert admin_client.get(f"/help/{path}").status_code == 404
