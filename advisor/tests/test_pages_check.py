"""The page that checks a my.cnf: line by line, for any server, and nothing is stored."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

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


def test_it_is_linked_from_every_page_and_from_the_new_study(admin_client: Client) -> None:
    assert reverse("config-check") == ADDRESS
    text = admin_client.get(reverse("study-new")).content.decode()
    assert text.count(f'href="{ADDRESS}"') == 2


def test_the_empty_page_says_what_comes_later(admin_client: Client) -> None:
    text = admin_client.get(ADDRESS).content.decode()
    assert "stages 1 and 2" in text
    assert "at the start of a" in text
    assert '<option value="mariadb 10.11.19">MariaDB 10.11.19</option>' in text
    assert '<option value="mysql 5.7">MySQL 5.7</option>' in text


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


def test_a_safe_file_asks_for_nothing(admin_client: Client) -> None:
    text = post(admin_client, "[mysqld]\ninnodb_io_capacity = 2000\n")[1]
    assert "I accept durability class" not in text
    assert "WARNING" not in text


def test_a_file_goes_before_the_text_and_comes_back_to_be_mended(admin_client: Client) -> None:
    upload = SimpleUploadedFile("prod.cnf", b"\n[mysqld]\ninnodb_io_capacitie = 1\n")
    _, text = post(admin_client, config_file=upload)
    assert "did you mean innodb_io_capacity?" in text
    # The browser drops one newline behind the tag: the file's own empty first line stays.
    assert "\n\n[mysqld]\ninnodb_io_capacitie = 1\n</textarea>" in text


def test_rules_of_this_host_hold_for_its_own_server_only(admin_client: Client) -> None:
    text = "[mysqld]\ninnodb_buffer_pool_size = 900T\n"
    here = post(admin_client, text, target="")[1]
    assert "Result for MySQL 9.7.4" in here
    assert "Does not fit into" in here
    assert "Does not fit into" not in post(admin_client, text)[1]


def test_any_encoding_is_read(admin_client: Client) -> None:
    data = "# größer\n[mysqld]\ninnodb_io_capacity = 2000\n".encode("latin-1")
    upload = SimpleUploadedFile("prod.cnf", data)
    assert "Accepted for" in post(admin_client, config_file=upload)[1]


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


@pytest.mark.long
def test_of_a_file_of_60000_lines_the_page_shows_what_matters(admin_client: Client) -> None:
    text = "[mysqld]\n" + "innodb_io_capacity=2000\n" * 600 + "wrong=1\n"
    _, page = post(admin_client, text)
    assert len(rows(page)) == 500
    assert rows(page)[-1][1:3] == ["wrong=1", "refused"]
    assert "101 more lines not shown" in page
    status, page = post(admin_client, "[mysqld]\n" + "x=1\n" * 60_000)
    assert status == 200
    assert "more than 2000 options; this is not a my.cnf" in page
    assert len(page) < 1_000_000


def test_markup_in_a_file_is_text(admin_client: Client) -> None:
    text = "[mysqld]\n</textarea><script>alert(1)</script> = <img src=x>\n[<b>x</b>]\n"
    raw = admin_client.post(ADDRESS, BLANK | {"config_text": text}).content.decode()
    for markup in ("<script>alert", "<img src=x", "<b>x</b>"):
        assert markup not in raw


def test_a_host_without_a_server_is_said_beside_the_choice(admin_client: Client) -> None:
    this_host(servers=())
    status, text = post(admin_client, target="")
    assert status == 400
    assert re.search(r'id="id_target_error"><li>no mysqld on host', text)
