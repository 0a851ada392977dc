"""The report of a study: what it has, what is cut, and what no paper shows."""

from __future__ import annotations

import html
import re
import shlex
from datetime import timedelta

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db


def words(client: Client, study: Study) -> str:
    answer = client.get(reverse("study-report", args=[study.pk]))
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def test_a_report_has_question_verdict_ranking_conditions_command_and_file(
    admin_client: Client,
) -> None:
    study = factories.raced_study()
    text = words(admin_client, study)
    for part in ("Question", "Verdict", "Ranking", "Charts", "Conditions", "How to repeat it"):
        assert part in text
    assert "95 % interval +33.8 to +44.3 %" in text
    assert "AMD EPYC 7B13" in text
    assert "memory 25.2 GB" in text
    assert "innodb_io_capacity = 3000" in text, "the file of whitepaper-3"
    assert "No run was disturbed" in text
    found = re.search(r"manage\.py (advise .*?) Server program", text)
    assert found is not None
    name, *arguments = shlex.split(found[1])
    load_command_class("advisor", name).create_parser("manage.py", name).parse_args(arguments)
    assert f"/studies/{study.pk}/" in text


@pytest.mark.long
def test_a_report_is_cut_to_what_fits_and_says_so(admin_client: Client) -> None:
    names = ["server-default", *(f"config-{number:02}-" + "x" * 80 for number in range(24))]
    devices = [factories.make_device(data_dir=f"/srv/{number}") for number in range(10)]
    study = factories.measured_study(
        names=names, device=devices[0], others=devices[1:], blocks=1, name="y" * 200
    )
    text = words(admin_client, study)
    assert "22 more on the study's page" in text
    assert "Which of 25 configs " in text
    assert re.search(r"config-\d\d-x+…x+ ", text)
    assert "Charts: sata-ssd at /srv/0 " in text, "of which ranking they are"
    assert "4 more rankings on the study's page" in text
    assert text.count("baseline") > 6, "the baseline is in each ranking, whatever its rank"


def test_a_report_before_the_first_result_says_so(admin_client: Client) -> None:
    text = words(admin_client, factories.make_study(state=StudyState.RUNNING, blocks=1))
    assert "No run has a result yet." in text
    assert "could be compared" not in text


def test_reports_without_a_result_say_why_and_unsafe_files_are_not_printed(
    admin_client: Client,
) -> None:
    failed = factories.make_study(
        state=StudyState.FAILED,
        blocks=1,
        reason="no server started",
        started_at=factories.BEGIN,
        finished_at=factories.BEGIN + timedelta(minutes=1),
    )
    for slot in failed.slots.select_related("run__slot"):
        factories.fail(slot.run)
    assert "Verdict" in words(admin_client, failed)
    assert "Not finished: what is known so far" in words(
        admin_client, factories.make_study(blocks=0)
    )
    unsafe = words(admin_client, factories.unsafe_study(blocks=1))
    assert "may lose data in a crash" in unsafe
    assert "innodb_doublewrite = OFF" not in unsafe
