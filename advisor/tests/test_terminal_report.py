from __future__ import annotations

import io

import pytest
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests import factories
from tuning.models import Study
from tuning.stored_documents import document_of

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


def test_intervals_ties_race_noise_and_confirmation_are_reported() -> None:
    text = " ".join(shown(factories.raced_study()).split())
    assert "+38.9 % +33.8 to +44.3 %" in text
    assert "Rank 1 is shared: whitepaper-3 and whitepaper-a are tied." in text
    assert "whitepaper-1 left the race after block 3: measurably below" in text
    assert "Noise floor " in text
    assert "Confirmed: whitepaper-3 +" in text
    assert "12/12 OK" in text


def test_tpmp_is_said_of_tpcc_alone() -> None:
    workload = factories.make_workload(
        name="oltp_read_write", driver="sysbench", warehouses=0, tables=8, table_size=1_000
    )
    study = factories.measured_study(workloads=[workload])
    text = " ".join(shown(study).split())
    assert "tpm" not in text
    assert "per min: transactions completed per minute." in text
    assert "sysbench, oltp_read_write, 8 tables of 1,000 rows, 8 connections" in text
    document = document_of(study)
    [facts] = document.workloads
    assert (facts.kind, facts.unit) == ("oltp_read_write", "transactions/min")
    assert "your own data size" not in document.answers[0].next_step


def test_classes_have_tables_and_verdicts_of_their_own() -> None:
    text = shown(factories.unsafe_study(blocks=1))
    assert text.count("server-default *") == 3
    assert "Durability D2: A crash or a power failure may corrupt the database" in text
    assert "(whitepaper-3) at durability D1" in text
