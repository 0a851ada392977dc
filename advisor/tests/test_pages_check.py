"""The page that checks a my.cnf: line by line, for any server, and nothing is stored."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from advisor.tests.drawn import words
from benchmarks.models import Config
from benchmarks.tests.made_up_host import this_host
from tuning.models import Study

pytestmark = pytest.mark.django_db

ADDRESS = "/configs/check/"
OLD = "[mysqld]\ninnodb_log_file_size = 1G\nquery_cache_size = 64M\ninnodb_io_capacity = 2000\n"
BLANK = {"target": "mysql 8.4.13", "translate_from": "", "connections": ""}


@pytest.fixture(autouse=True)
def server_here() -> None:
    """A host with a server."""
    this_host()


def post(client: Client, text: str = OLD, **fields: Any) -> tuple[int, str]:
    answer = client.post(ADDRESS, BLANK | {"config_text": text} | fields)
    return answer.status_code, html.unescape(answer.content.decode())


def rows(page: str) -> list[list[str]]:
    """The cells of the line-by-line table as words."""
    table = page[page.index("<tbody") : page.index("</tbody>")]
    return [
        [words(cell) for cell in re.findall(CELL, row, re.S)] for row in table.split("<tr ")[1:]
    ]


CELL = r"<t[hd][^>]*>(.*?)</t[hd]>"


def test_every_line_has_a_fate_and_the_file_is_translated(admin_client: Client) -> None:
    text = OLD + "port = 3306\ntmp_table_size = 64M\nwrong = 1\n"
    status, page = post(admin_client, text)
    assert status == 200
    assert "Cannot be used on MySQL 8.4.13: 1 line measured, 1 applied, 1 kept" in page
    assert [row[1:3] for row in rows(page)] == [
        ["innodb_log_file_size = 1G", "translated"],
        ["query_cache_size = 64M", "removed"],
        ["innodb_io_capacity = 2000", "measured"],
        ["port = 3306", "kept"],
        ["tmp_table_size = 64M", "applied"],
        ["wrong = 1", "refused"],
    ]
    assert rows(page)[0][3] == "innodb_redo_log_capacity = 2G"
    assert not Study.objects.exists()
    assert not Config.objects.exists()
    status, page = post(admin_client)
    assert "Accepted for MySQL 8.4.13" in page
    assert "[mysqld]\ninnodb_redo_log_capacity = 2G\ninnodb_io_capacity = 2000\n" in page


UNSAFE = "[mysqld]\ninnodb_io_capacity = 2000\nsync_binlog = 0\ninnodb_doublewrite = OFF\n"


def test_a_file_below_d0_says_at_its_top_what_it_may_lose(admin_client: Client) -> None:
    status, text = post(admin_client, UNSAFE)
    assert status == 200
    shown = text[text.index('<pre id="outcome-text"') :]
    top = shown[: shown.index("[mysqld]")]
    for said in ("D2: WARNING", "innodb_doublewrite = OFF may lose", "sync_binlog = 0 may lose"):
        assert said in top


def test_rules_of_this_host_hold_for_its_own_server_only(admin_client: Client) -> None:
    text = "[mysqld]\ninnodb_buffer_pool_size = 900T\n"
    here = post(admin_client, text, target="")[1]
    assert "Result for MySQL 9.7.4" in here
    assert "Does not fit into" in here
    assert "Does not fit into" not in post(admin_client, text)[1]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"config_text": " "}, "Choose a file or paste a my.cnf."),
        ({"config_file": SimpleUploadedFile("big.cnf", b"#" * 300_000)}, "larger than 256 KiB"),
    ],
)
def test_what_is_wrong_is_said_beside_the_fields(
    admin_client: Client, fields: dict[str, Any], error: str
) -> None:
    answer = admin_client.post(ADDRESS, BLANK | {"config_text": OLD} | fields)
    assert answer.status_code == 400
    text = html.unescape(answer.content.decode())
    assert "Nothing was checked." in text
    assert error in text


# --- the command ---------------------------------------------------------------------------------


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


def test_an_option_that_makes_no_sense_ends_with_2(file: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("config", "check", str(file), "--target", "oracle 23")
    assert ended.value.code == 2
