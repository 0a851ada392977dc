"""A my.cnf is read as the server reads it, in any encoding, and no line is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.options import option_line, render_config
from benchmarks.servers.paths import InstancePaths
from tuning.catalogue.target import ServerTraits
from tuning.configs.line import Fate
from tuning.configs.parse import (
    MAX_SETTINGS,
    CnfFile,
    decode_cnf,
    older_group,
    read_cnf,
    scan_cnf,
    server_group,
)
from tuning.errors import InvalidConfig, Problem

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))


def parse(text: str, target: ServerTraits | None = None) -> CnfFile:
    return scan_cnf(text, lambda group: server_group(group, target))


def pairs(text: str, target: ServerTraits | None = None) -> list[tuple[str, str | None]]:
    return [(s.name, s.value) for s in parse(text, target).settings]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("innodb_io_capacity=200", "innodb_io_capacity", "200"),
        ("  innodb-io-capacity \t=  200  ", "innodb_io_capacity", "200"),
        ("innodb_io_capacity = 200 # was 2000", "innodb_io_capacity", "200"),
        ("innodb_io_capacity = 200#x", "innodb_io_capacity", "200"),
        ("innodb_io_capacity = 200 ; x", "innodb_io_capacity", "200 ; x"),
        ("innodb_io_capacity = 200\r", "innodb_io_capacity", "200"),
        ("skip-log-bin", "skip_log_bin", None),
        ("skip-log-bin # why", "skip_log_bin", None),
        ("innodb_flush_method=", "innodb_flush_method", ""),
        ("innodb_flush_method=''", "innodb_flush_method", ""),
        ('a = "x # y"', "a", "x # y"),
        ("a = 'it is \"quoted\"'", "a", 'it is "quoted"'),
        ('a = "tab\\tnew\\nline\\sspace\\\\"', "a", "tab\tnew\nline space\\"),
        ('a = "say \\"#1\\""', "a", 'say "#1"'),
        ("a = C:\\Program", "a", "C:\\Program"),
        ("a = b = c", "a", "b = c"),
        ("A = Ünïcode", "A", "Ünïcode"),
    ],
)
def test_one_line(line: str, name: str, value: str | None) -> None:
    assert pairs(f"[mysqld]\n{line}\n") == [(name, value)]


def test_comments_and_blank_lines_say_nothing() -> None:
    assert pairs("# a\n; b\n\n   # c\n[mysqld]\n#x=1\n ;y=2\n\nz=3") == [("z", "3")]


def test_loose_is_taken_off_and_remembered() -> None:
    [setting] = parse("[mysqld]\nloose-innodb_fast=1").settings
    assert (setting.name, setting.is_loose) == ("innodb_fast", True)
    assert setting.text == "loose-innodb_fast=1"


def test_lines_of_other_programs_and_included_files_are_kept() -> None:
    file = parse("!includedir x/\n[client]\nport=1\n[mysqld]\na=1\n!include x\na=2")
    assert [(s.number, s.name, s.value) for s in file.settings] == [(5, "a", "1"), (7, "a", "2")]
    assert [(x.number, x.name, x.group, x.fate) for x in file.others] == [
        (1, "!includedir", "", Fate.KEPT),
        (3, "port", "client", Fate.KEPT),
        (6, "!include", "mysqld", Fate.KEPT),
    ]


#: Groups; whether MySQL 9.7, MariaDB 10.11, 11.8 and any server read them, and one up to 11.8.
GROUPS = """
mysqld          + + + + +
server          + + + + +
mariadb         - + + + +
client-server   - + + + +
mysqld-9.7      + - - + +
mysqld-8.4      - - - + +
mysqld-11       - - - - -
mysqld-11.8     - - + + +
mariadb-10      - - - - -
mariadb-10.6    - - - + +
mariadbd-10.11  - + - + +
mariadb-11      - - + + +
mariadb-12      - - - + -
mysqld-\u0669.\u0667 - - - - -
"""


@pytest.mark.parametrize("row", GROUPS.strip().splitlines())
def test_groups_count_for_their_server_and_version(row: str) -> None:
    """As --help of the servers lists them."""
    group, *marks = row.split()
    newest = ServerTraits(Flavour.MARIADB, (11, 8, 9))
    read = [server_group(group, one) for one in (MYSQL, MARIADB, newest, None)]
    assert [*read, older_group(group, newest)] == [mark == "+" for mark in marks]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("innodb_io_capacity=200\n[mysqld]", 1, "add [mysqld] above"),
        ("[mysqld\na=1", 1, "] of the group is missing"),
        ("[mysqld]\n= 5", 2, "without a name"),
        ("[mysqld]\na = 'x", 2, "not closed"),
        ("[mysqld]\na = it's # comment", 2, "not closed"),
        ("[mysqld]\na=" + "x" * 4100, 2, "longer than 4095 bytes"),
        ("[mysqld]\n#" + "x" * 4100, 2, "longer than 4095 bytes"),
        ("[mysqld]\n# \x00", 2, "contains a NUL byte"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, reason: str) -> None:
    [refused] = parse(text).others
    assert (refused.number, refused.fate) == (line, Fate.REFUSED)
    assert reason in refused.reason


def test_a_huge_file_is_refused_without_reading_it() -> None:
    assert "256 KiB" in parse("a" * 10_000_000).problem


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"[mysqld]\r\na=1\r\n", "utf-8"),
        (b"\xef\xbb\xbf[mysqld]\r\na=1\r\n", "utf-8"),
        ("# Größe\n[mysqld]\na=1\n".encode("latin-1"), "latin-1"),
        ("\ufeff# ü\n[mysqld]\r\na=1\r\n".encode("utf-16-le"), "utf-16-le"),
        ("\ufeff[mysqld]\na=1\n".encode("utf-16-be"), "utf-16-be"),
        ("[mysqld]\na=1\n".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_a_file_is_read_in_its_encoding(data: bytes, encoding: str) -> None:
    text, found = decode_cnf(data)
    assert (found, text.encode(found)) == (encoding, data)
    assert [(s.name, s.value) for s in parse(text).settings] == [("a", "1")]


def test_reading_stops_at_the_limit_and_says_what_is_missing(tmp_path: Path) -> None:
    big = tmp_path / "big.cnf"
    big.write_bytes(b"#" * 10_000_000)
    assert len(read_cnf(big)) == 256 * 1024 + 1
    with pytest.raises(InvalidConfig, match="No such file"):
        read_cnf(tmp_path / "absent.cnf")
    with pytest.raises(InvalidConfig, match="Is a directory"):
        read_cnf(tmp_path)


def test_a_problem_reads_as_a_sentence() -> None:
    assert str(Problem("x.cnf", 3, "port", "not yours")) == "x.cnf, line 3: port: not yours"
    assert str(Problem("x.cnf", None, "", "too big")) == "x.cnf: too big"
    refused = InvalidConfig([Problem("x.cnf", 1, "a", "bad"), Problem("x.cnf", 2, "b", "bad")])
    assert str(refused) == "x.cnf, line 1: a: bad (and 1 more problem)"


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True).filter(
    lambda name: not name.startswith("loose_")
)
VALUES = st.none() | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=80
)


@pytest.mark.long
@given(st.lists(st.tuples(NAMES, VALUES), max_size=12))
def test_parse_render_parse(settings: list[tuple[str, str | None]]) -> None:
    text = "[mysqld]\n" + "\n".join(option_line(name, value) for name, value in settings)
    assert pairs(text) == settings


#: What a row could hold if every check before it had failed.
ODD = st.text(st.sampled_from("ab=#;'\"\\![]\n\r\t\x00 \x85\u2028é"), max_size=12)
PATHS = InstancePaths(Path("/d/data"), Path("/d/run"))


@given(st.dictionaries(NAMES | ODD, VALUES | ODD, max_size=4))
def test_no_text_in_a_row_becomes_another_line_of_a_servers_file(
    options: dict[str, str | None],
) -> None:
    binary = ServerBinary(Path("/no/mysqld"), Flavour.MYSQL, (9, 7, 4), "9.7.4", "0" * 64, None)
    ours = render_config(binary, PATHS, port=1, options={}, fast_shutdown=True)
    try:
        text = render_config(binary, PATHS, port=1, options=options, fast_shutdown=True)
    except ValueError:
        return
    file = scan_cnf(text, lambda group: group == "mysqld")
    assert file.others == ()
    given = [
        (name.strip().lower().replace("-", "_").removeprefix("loose_"), value)
        for name, value in options.items()
    ]
    read = [(setting.name, setting.value) for setting in file.settings]
    own = len(pairs(ours, MYSQL))
    if not {"log_bin", "skip_log_bin"} & {name for name, _ in given}:
        assert read[own:] == given


@given(st.binary(max_size=300))
def test_any_bytes_are_read_and_come_back(data: bytes) -> None:
    for given_bytes in (data, b"[mysqld]\n" + data):
        text, encoding = decode_cnf(given_bytes)
        assert text.encode(encoding) == given_bytes
        file = parse(text)
        again = "[mysqld]\n" + "\n".join(option_line(s.name, s.value) for s in file.settings)
        assert pairs(again) == [(s.name, s.value) for s in file.settings]


AWKWARD = r"""
[client]
port=1
[mysqld]
plain = 200 # comment
quoted = "a # b"
single='x "y" z'  # c
escapes = "tab\tback\\slash\sspace\q"
bare-option
empty =
spaces   =   several  words
hash=1#2
path = C:\Program
twice = 1
[server]
twice = 2
"""


@pytest.mark.server
def test_the_server_reads_the_same(any_server: ServerBinary, server_tmp: Path) -> None:
    config = server_tmp / "awkward.cnf"
    config.write_text(AWKWARD)
    finished = subprocess.run(
        [any_server.path, f"--defaults-file={config}", "--print-defaults"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    ours = [
        f"--{s.name}" if s.value is None else f"--{s.name}={s.value}"
        for s in parse(AWKWARD, ServerTraits.of(any_server)).settings
    ]
    theirs = finished.stdout.split("\n", 1)[1].strip().replace("bare-option", "bare_option")
    assert theirs == " ".join(ours)


def test_a_blank_before_the_name_makes_it_another_group() -> None:
    """Seen on MySQL 9.7.4 and MariaDB 10.11.19 with --print-defaults."""
    file = parse("[ mysqld]\nback_log=1\n[mysqld ]\nback_log=2\n")
    assert [setting.value for setting in file.settings] == ["2"]
    assert "write [mysqld]" in file.others[0].reason


def test_a_file_with_more_options_than_any_server_knows_is_refused() -> None:
    text = "[mysqld]\n" + "a=1\n" * MAX_SETTINGS
    assert parse(text).problem == ""
    assert "this is not a my.cnf" in parse(text + "a=1\n").problem
