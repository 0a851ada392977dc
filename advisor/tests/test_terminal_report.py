from __future__ import annotations

import io

import pytest
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests import factories
from benchmarks.models import Config
from tuning.models import Candidate, Study
from tuning.results.stored_documents import document_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("width", [80, 200])
def test_the_ranking_keeps_every_figure_on_a_terminal_of_80_columns(width: int) -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    shown = io.StringIO()
    print_study(document_of(study), Console(file=shown, width=width))
    text = shown.getvalue()
    lines = {line.split()[1]: line.split() for line in text.splitlines() if "whitepaper" in line}
    assert lines["whitepaper-a"][0].isdigit()
    assert lines["whitepaper-a"][-1] == "OK"
    assert lines["whitepaper-a"][3].startswith("+")
    assert "server-default *" in text
    assert "0/3" in lines["whitepaper-1"]
    assert "…" not in text
    assert "not tpmC" in text


def shown(study: Study) -> str:
    text = io.StringIO()
    print_study(document_of(study), Console(file=text, width=80))
    return text.getvalue()


def test_a_proposal_that_is_not_possible_here_has_no_reasons_for_its_lines() -> None:
    study = factories.measured_study(blocks=1)
    note = {"name": "innodb_io_capacity", "action": "proposed", "detail": "twice the IOPS"}
    config = Config.objects.create(hash="0" * 64, knobs={})
    left_out = study.candidates.get(name="whitepaper-3")
    Candidate.objects.filter(pk=left_out.pk).update(
        config=config, notes=[note], refusal="not possible here"
    )
    text = shown(study)
    assert "not possible here" in text
    assert "twice the IOPS" not in text


def test_intervals_ties_race_noise_and_confirmation_are_reported() -> None:
    text = " ".join(shown(factories.raced_study()).split())
    assert "+38.9 % +33.8 to +44.3 %" in text
    assert "Rank 1 is shared: whitepaper-3 and whitepaper-a are tied." in text
    assert "whitepaper-1 left the race after block 3: measurably below" in text
    assert "Noise floor " in text
    assert "Confirmed: whitepaper-3 +" in text
    assert "12/12 OK" in text


def test_devices_are_called_by_their_names_and_limits() -> None:
    study = factories.race(factories.study_on_two_devices())
    text = shown(study)
    heads = [line for line in text.splitlines() if line.startswith("MySQL 9.7.4 on ")]
    assert heads == [
        "MySQL 9.7.4 on NVMe at /srv/mysql",
        "MySQL 9.7.4 on emulated HDD with 700 MB of memory at /srv/mysql",
    ]
    limits = "emulated HDD (200 IOPS read, 200 IOPS write, 700 MB memory)"
    assert text.splitlines().count(limits) == 1
    assert text.index(heads[1]) < text.index(limits)
    verdicts = " ".join(text[text.index("and their outcome.") :].split())
    assert " NVMe at /srv/mysql: whitepaper-" in verdicts
    assert " emulated HDD with 700 MB of memory at /srv/mysql: whitepaper-" in verdicts
