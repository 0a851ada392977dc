"""The ranking sorted by any column, filtered by name, and each line's difference."""

from __future__ import annotations

import html
import re

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from advisor.pages.study.board_choice import board_choice
from advisor.pages.study.table_order import COLUMNS, table_order
from advisor.tests import factories
from advisor.tests.drawn import flat
from tuning.models import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.measured_study(fails=["whitepaper-1"])


def table(client: Client, study: Study, query: str = "") -> str:
    text = flat(client.get(reverse("study-detail", args=[study.pk]) + query))
    return html.unescape(re.findall(r'<table class="ranking">.*?</table>', text, re.DOTALL)[0])


def names(text: str) -> list[str]:
    return re.findall(r'class="name"><a[^>]*>([^<]+)<', text)


@pytest.mark.long
def test_every_column_sorts_by_a_link_and_turns_round(admin_client: Client, study: Study) -> None:
    usual = names(table(admin_client, study))
    for column in COLUMNS:
        text = table(admin_client, study, f"?sort={column}")
        assert sorted(names(text)) == sorted(usual)
        turned = names(table(admin_client, study, f"?sort=-{column}"))
        assert turned != names(text) or column in ("runs", "outcome"), column
        # The link of the current column leads to the other direction.
        assert f"sort=-{column}" in text
        assert len(re.findall(r'aria-sort="(?:ascending|descending)"', text)) == 1
    by_name = names(table(admin_client, study, "?sort=name"))
    assert by_name == sorted(usual)
    assert names(table(admin_client, study, "?sort=-name")) == sorted(usual, reverse=True)
    assert '<span class="note">3 runs without a result</span>' in text
    # A candidate without a figure is last in both directions.
    assert names(table(admin_client, study, "?sort=throughput"))[-1] == "whitepaper-1"
    assert names(table(admin_client, study, "?sort=-throughput"))[-1] == "whitepaper-1"
    assert names(table(admin_client, study, "?sort=nonsense")) == usual


def test_names_filter_the_lines_and_not_the_ranks(admin_client: Client, study: Study) -> None:
    page = admin_client.get(reverse("study-detail", args=[study.pk]) + "?only=PAPER")
    text = html.unescape(flat(page))
    assert set(names(text)) == {name for name in factories.NAMES if "paper" in name}
    assert "ranks and intervals are those of the full ranking" in text
    assert "Show all" in text
    nothing = admin_client.get(reverse("study-detail", args=[study.pk]) + "?only=zz")
    assert "No candidate's name has “zz”" in html.unescape(flat(nothing))


def test_the_choice_stays_in_links_polls_and_switches() -> None:
    choice = board_choice(QueryDict("by=p95_ms&sort=-throughput&only=a+b&p95=25"))
    assert choice.query == "by=p95_ms&p95=25&sort=-throughput&only=a+b"
    assert choice.chart_query == "by=p95_ms&p95=25"
    assert choice.sorts["throughput"] == ("by=p95_ms&p95=25&sort=throughput&only=a+b", "ascending")
    assert choice.sorts["rank"] == ("by=p95_ms&p95=25&only=a+b", "none")
    assert all("sort=-throughput" in query for _, query, _ in choice.switches)
    assert table_order(QueryDict("sort=--rank")).is_by_rank


def test_a_line_opens_to_its_difference_from_the_baseline(
    admin_client: Client, study: Study
) -> None:
    text = table(admin_client, study)
    differences = re.findall(r"(\d+) lines? differs? from the baseline", text)
    others = [one for one in study.candidates.all() if not one.is_baseline]
    assert sorted(map(int, differences)) == sorted(len(one.config.knobs) for one in others)
    assert re.search(r"<code>innodb_io_capacity</code>\s*<span[^>]*>not set</span>", text)
