"""The page that checks a my.cnf: line by line, for any server, and nothing is stored."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

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
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(CELL, row, re.S)]
        for row in table.split("<tr ")[1:]
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
    assert "Download my.cnf" not in page
    status, page = post(admin_client)
    assert "Accepted for MySQL 8.4.13" in page
    assert "[mysqld]\ninnodb_redo_log_capacity = 2G\ninnodb_io_capacity = 2000\n" in page


def test_the_result_is_downloaded_and_nothing_is_stored(admin_client: Client) -> None:
    fields = BLANK | {"config_text": OLD, "action": "download"}
    answer = admin_client.post(ADDRESS, fields)
    assert answer["Content-Disposition"] == 'attachment; filename="my.cnf"'
    assert answer.content.decode().startswith("[mysqld]\ninnodb_redo_log_capacity")
    assert not Study.objects.exists()
    assert not Config.objects.exists()


UNSAFE = "[mysqld]\ninnodb_io_capacity = 2000\nsync_binlog = 0\ninnodb_doublewrite = OFF\n"


def test_a_file_below_d0_says_at_its_top_what_it_may_lose(admin_client: Client) -> None:
    status, text = post(admin_client, UNSAFE)
    assert status == 200
    shown = text[text.index('<pre id="outcome-text"') :]
    shown = shown[: shown.index("</pre>")]
    top = shown[: shown.index("[mysqld]")]
    assert "# D2: WARNING" in top
    assert "# WARNING: innodb_doublewrite = OFF may lose" in top
    assert "# WARNING: sync_binlog = 0 may lose" in top
    assert "innodb_io_capacity" not in top
    assert "I accept durability class D2." in text


@pytest.mark.parametrize("accepted", ["", "D0", "D1", "D9"])
def test_a_file_below_d0_is_downloaded_when_its_class_is_accepted(
    admin_client: Client, accepted: str
) -> None:
    fields = {"action": "download"}
    answer = admin_client.post(
        ADDRESS, BLANK | {"config_text": UNSAFE, "acknowledge": accepted} | fields
    )
    assert answer.status_code == 400
    assert "Content-Disposition" not in answer
    assert "You must accept this to get the file." in answer.content.decode()
    assert "Nothing was checked." not in answer.content.decode()
    answer = admin_client.post(
        ADDRESS, BLANK | {"config_text": UNSAFE, "acknowledge": "D2"} | fields
    )
    assert answer["Content-Disposition"] == 'attachment; filename="my.cnf"'
    file = answer.content.decode()
    assert file.startswith("# D2: WARNING")
    assert file.endswith("innodb_doublewrite = OFF\n")


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
        ({"config_text": "#" * 300_000}, "larger than 256 KiB"),
        ({"target": "oracle 23"}, "Select a valid choice"),
        ({"connections": "0"}, "greater than or equal to 1"),
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
