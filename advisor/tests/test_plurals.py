"""One of something is not said as several."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from rich.console import Console

from advisor.terminal.report import print_ranking
from advisor.tests import factories
from advisor.tests.search_study import searching_study
from benchmarks.counted import counted
from tuning.results.study_result import StudyResult

pytestmark = pytest.mark.django_db
_THINGS = (
    *("block", "candidate", "config", "connection", "CPU", "device", "host", "job", "line"),
    *("minute", "pair", "run", "variable", "warehouse"),
)
_WRONG = re.compile(rf"(?<![\w.,\u2212-])1 (?:{'|'.join(_THINGS)}|studie)s\b.{{0,40}}")


def wrong(text: str) -> list[str]:
    words = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())
    return [found[0] for found in _WRONG.finditer(words)]


def test_pages_charts_and_terminal_of_a_study_with_one_of_everything(
    admin_client: Client,
) -> None:
    workloads = [factories.make_workload(connections=number, warehouses=1) for number in (1, 8)]
    names = factories.NAMES[:2]
    study = factories.measured_study(workloads=workloads, names=names, blocks=1)
    for board in StudyResult(study).boards[1:]:
        factories.recommend(study, board)
    search = searching_study(1)
    config = study.candidates.latest("pk").config
    shown = {
        path: admin_client.get(path).content.decode()
        for path in (
            *("/", "/studies/", "/studies/new/", "/devices/", "/hosts/", "/devices/compare/"),
            *(f"/studies/{one.pk}/{part}" for one in (study, search) for part in _PARTS),
            *(f"/configs/{config.pk}/", f"/configs/{config.pk}/charts.json"),
            f"/compare/?with=study-{study.pk}",
            f"/api/v1/studies/{study.pk}/events/",
        )
    }
    assert "1 connection" in shown[f"/studies/{study.pk}/"]
    console = Console(record=True, width=200)
    print_ranking(StudyResult(study), console)
    shown["terminal"] = console.export_text()
    assert "1 connection" in shown["terminal"]
    found = {where: wrong(text) for where, text in shown.items() if wrong(text)}
    assert not found


_PARTS = ("", "live/", "charts.json", "report/")


def test_one_is_told_from_several() -> None:
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert wrong("<b>1</b> runs, 1 run, 21 runs, 0.1 runs") == ["1 runs, 1 run, 21 runs, 0.1 runs"]
