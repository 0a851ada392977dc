"""`manage.py config check`: the fate of each line, in the terminal and as in the API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.tests.made_up_host import this_host

FILE = "[mysqld]\nport = 3306\ntmp_table_size = 64M\nquery_cache_size = 0\ntmp_tabel_size = 1\n"
FATES = ["kept", "applied", "removed", "refused"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.cnf"
    path.write_text(FILE)
    return path


def test_each_line_has_a_row(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("config", "check", str(file), "--target", "mysql-8.4")
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert all(fate in said for fate in FATES)
    assert "1 refused" in " ".join(said.split())


@pytest.mark.django_db
def test_it_says_what_page_and_api_say(
    file: Path, capsys: pytest.CaptureFixture[str], admin_client: Client
) -> None:
    this_host()
    with pytest.raises(SystemExit):
        call_command("config", "check", str(file), "--target", "mysql-8.4", "--json")
    said = json.loads(capsys.readouterr().out)
    assert [line["fate"] for line in said["lines"]] == FATES
    body = {"text": FILE, "name": "my.cnf", "target": "mysql-8.4"}
    address = "/api/v1/configs/check/"
    answer = admin_client.post(address, json.dumps(body), content_type="application/json")
    assert answer.json() == said
    page = admin_client.post("/configs/check/", {"config_text": FILE, "target": "mysql 8.4.13"})
    assert all(line["text"] in page.content.decode() for line in said["lines"])


def test_an_option_that_makes_no_sense_ends_with_2(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("config", "check", str(file), "--target", "oracle 23")
    assert ended.value.code == 2
