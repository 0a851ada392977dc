"""Pages as text."""

from __future__ import annotations

import html
import re
from typing import Any

from django.test import Client

from tuning.models import Study


def words(markup: str) -> str:
    """Return what a reader sees of markup, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def study_page(client: Client, study: Study) -> str:
    """Return the page of a study on one line."""
    return flat(client.get(f"/studies/{study.pk}/"))


def study_charts(client: Client, study: Study) -> dict[str, Any]:
    """Return the charts of a study's page, by their keys."""
    found: dict[str, Any] = client.get(f"/studies/{study.pk}/charts.json").json()["charts"]
    return found


def flat(answer: Any) -> str:
    """Return the text of an answer on one line: how its markup is wrapped says nothing."""
    return re.sub(r"[ \n]+", " ", answer.content.decode())
