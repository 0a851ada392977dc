"""What the source of a template found and what was found here: page, chart, API and terminal."""

from __future__ import annotations

import io
import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from rich.console import Console

from advisor.charts.effects import findings_figure
from advisor.charts.style import GREEN, RED
from advisor.terminal.report import print_study
from advisor.tests import claimed
from advisor.tests.drawn import as_plotly, study_page, words
from benchmarks.storage.kinds import kind_words
from tuning.models import Study
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.stored_documents import document_of

pytestmark = pytest.mark.django_db
TITLE = "The source's claims, checked here"
NVME = {"nvme": claimed.AS_PUBLISHED}
THREE = {
    "nvme": claimed.AS_PUBLISHED,
    "sata-ssd": claimed.OTHERWISE_ON_SATA,
    "hdd": claimed.ON_A_HARD_DISK,
}


@pytest.fixture
def browser(admin_client: Client) -> Client:
    return admin_client


def claims_in(html: str) -> list[str]:
    """The text of each claim in the list, blanks squeezed."""
    found = re.search(r'<ol class="claims">(.*?)</ol>', html, re.DOTALL)
    assert found, "no list of claims"
    items = re.split(r"<li>\s*<p class=\"says\">", found[1])[1:]
    return [words(item) for item in items]


def test_each_claim_stands_with_its_source_and_what_was_found(browser: Client) -> None:
    html = study_page(browser, claimed.claimed_study(NVME))
    assert TITLE in html
    assert "3 confirmed, 3 not decided." in html
    first, second, *_ = claims_in(html)
    assert first.startswith("Config #2 is better than #1 for NVMe SSDs.")
    assert "Whitepaper 2016, section 3, Figure 1: 37,802 against 24,441 tpmP" in first
    assert re.search(r"confirmed whitepaper-2 completes 5\d\.\d % more .*95 % interval \+", first)
    assert "not decided the study measured no device of kind SATA SSD; it ran on NVMe" in second
    assert "so far" not in first


def test_each_device_has_its_own_answer(browser: Client) -> None:
    html = study_page(browser, claimed.claimed_study(THREE))
    _, sata, disk, larger_pool, *_ = claims_in(html)
    assert "SATA SSD at /srv/sata-ssd contradicted whitepaper-1 completes 3" in sata
    assert "HDD at /srv/hdd confirmed whitepaper-1 completes 5" in disk
    for kind in THREE:
        assert f"{kind_words(kind)} at /srv/{kind} confirmed whitepaper-3 completes" in larger_pool


def test_while_the_study_runs_it_says_so_far(browser: Client) -> None:
    study = claimed.claimed_study(NVME, done=17)
    html = study_page(browser, study)
    assert "So far:" in html
    assert "confirmed so far whitepaper-2 completes" in claims_in(html)[0]
    answer = browser.get(f"/studies/{study.pk}/live/", {"seen": "other"}).content.decode()
    assert '<div id="study-findings" hx-swap-oob="true">' in answer
    assert claims_in(answer) == claims_in(html)
    # The chart stays where it is and is drawn anew, as those of the boards.
    assert 'data-chart="findings"' in html
    assert 'data-chart="findings"' not in answer


def test_the_chart_comes_with_the_first_figures(browser: Client) -> None:
    study = claimed.claimed_study(NVME, done=0)
    [address] = re.findall(r'hx-get="([^"]+)"', study_page(browser, study))
    claimed.finish_all(study, claimed.AS_PUBLISHED)
    answer = browser.get(unescape(address)).content.decode()
    assert '<div id="findings-chart" hx-swap-oob="true">' in answer
    assert 'data-chart="findings"' in answer


def chart_of(study: Study) -> Any:
    return as_plotly(findings_figure(build(StudyRows(study))))


def test_the_chart_has_the_interval_the_threshold_and_the_answer() -> None:
    figure = chart_of(claimed.claimed_study(THREE))
    at = figure.layout.yaxis.ticktext.index("Claim 2<br>SATA SSD")
    dots = figure.data[0]
    low, high = dots.x[at] - dots.error_x.arrayminus[at], dots.x[at] + dots.error_x.array[at]
    assert low < dots.x[at] < high < 0
    assert dots.marker.color[at] == RED
    assert set(dots.marker.color) == {GREEN, RED}
    lines = [one for one in figure.layout.shapes if one.type == "line"]
    assert [one.x0 for one in lines if one.y0 == at - 0.36] == pytest.approx([5])
    same = figure.layout.yaxis.ticktext.index("Claim 6<br>HDD")
    ends = [one.x0 for one in lines if one.y0 == same - 0.36]
    assert ends == pytest.approx([-10, 10])


def test_names_in_a_figure_are_text_never_markup() -> None:
    study = claimed.claimed_study({"nvme": claimed.AS_PUBLISHED, "hdd": claimed.ON_A_HARD_DISK})
    study.devices.update(kind="nvme")
    for device in study.devices.all():
        device.data_dir = f"/srv/<b>%{{x}}&{device.pk}"
        device.save()
    figure = chart_of(study)
    text = "".join(figure.layout.yaxis.ticktext)
    assert "&lt;b&gt;%&#123;x}&amp;" in text
    assert "<b>" not in text
    assert "%{" not in text


def test_the_figure_of_two_blocks_is_finite(browser: Client) -> None:
    study = claimed.claimed_study(NVME, blocks=2)
    figure = browser.get(f"/studies/{study.pk}/charts.json").json()["charts"]["findings"]
    text = json.dumps(figure)
    assert "Infinity" not in text
    assert "NaN" not in text


def printed(study: Study) -> str:
    text = io.StringIO()
    print_study(document_of(study), Console(file=text, width=80))
    return " ".join(text.getvalue().split())


def test_the_terminal_prints_them_after_the_ranking() -> None:
    text = printed(claimed.claimed_study(THREE))
    assert text.index("Noise floor") < text.index(TITLE)
    assert "1. Config #2 is better than #1 for NVMe SSDs. Whitepaper 2016, section 3" in text
    assert "SATA SSD at /srv/sata-ssd: Contradicted here: whitepaper-1 completes 3" in text
    assert f"{TITLE}, so far" not in text
