"""The diff puts the recommendation into the user's own my.cnf and leaves the rest alone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuning.catalogue.knob import Durability
from tuning.configs.expected import Expected
from tuning.configs.rules import broken_rules
from tuning.configs.values import cnf_value
from tuning.errors import InvalidConfig, TuningError
from tuning.export.facts import ExportFacts
from tuning.export.formats import ExportRequest, export
from tuning.tests.export_cases import (
    FACTS,
    MARIADB,
    MYSQL,
    MYSQL_8,
    facts,
    flat,
    patched_cnf,
    rendered,
    settings_in,
)
from tuning.tests.test_export import left_out

PRODUCTION = b"""# our server
[client]
port = 3306
socket = /run/mysqld/mysqld.sock

[mysqld]
# paths
datadir = /srv/mysql
port    = 3306
  innodb-io-capacity=200\t # the old disk # really
innodb_buffer_pool_size = 4G
skip-name-resolve

# backups
[mysqldump]
quick
"""


def settings_of(data: bytes, target: Any = MYSQL) -> dict[str, str | None]:
    return settings_in(data, target)


def diff_of(given_: ExportFacts, current: bytes) -> bytes:
    return export(given_, ExportRequest("diff", Durability.D2, current)).data


def patched_by_patch(current: bytes, diff: bytes, folder: Path) -> bytes:
    """What patch(1) makes of the file."""
    (folder / "my.cnf").write_bytes(current)
    (folder / "my.cnf.diff").write_bytes(diff)
    finished = subprocess.run(
        ["patch", "--no-backup-if-mismatch", "--fuzz=0", "-i", "my.cnf.diff"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return (folder / "my.cnf").read_bytes()


CURRENT = {
    "production": PRODUCTION,
    "empty": b"",
    "no group": b"# nothing here\n",
    "other group": b"[client]\nport=1\n",
    "no end of line": b"[mysqld]\ninnodb_io_capacity=200",
    "no end of line, other": b"[mysqld]\nport=1",
    "header only": b"[mysqld]",
    "windows": b"\xef\xbb\xbf[mysqld]\r\nport=1\r\ninnodb_io_capacity=200\r\n[client]\r\nx\r\n",
    "two groups": b"[mysqld]\nport=1\n[client]\nuser=a\n[mysqld]\nsocket=/x\n\n# end\n[mysql]\n",
    "set twice": b"[mysqld]\ninnodb_io_capacity=1000\n[server]\ninnodb_io_capacity=300\n",
    "not in ascii": "[mysqld]\n# Gr\u00fc\u00dfe \u2028 aus K\u00f6ln\nport=1\n".encode(),
    "of no value": b"[mysqld]\ninnodb_io_capacity =\ninnodb_flush_method\n",
    "in latin-1": b"[mysqld]\n# Gr\xfc\xdfe\nport=1 # \xe4\ninnodb_io_capacity=200",
    "windows without an end": b"[mysqld]\r\ninnodb_io_capacity=200\r\nport=1",
    "debian": b"[client-server]\nsocket=/run/x\n\n!includedir /etc/mysql/conf.d/\n",
    "includes in the group": b"[mysqld]\ninnodb_io_capacity=200\n!include /etc/x.cnf\n",
    "twice in a group": b"[mysqld]\ninnodb_io_capacity=1\nport=1\ninnodb-io-capacity=300\n",
    "loose and quoted": b"[mysqld]\nloose_innodb_io_capacity = '300'\n  loose-x=1\n",
}


@pytest.mark.parametrize("current", CURRENT.values(), ids=CURRENT)
def test_patch_applies_it(current: bytes, tmp_path: Path) -> None:
    new = patched_by_patch(current, diff_of(FACTS, current), tmp_path)
    assert new == patched_cnf(FACTS, current)
    assert settings_of(new) == {**settings_of(current), **FACTS.knobs}
    assert diff_of(FACTS, new).endswith(
        b"# Your file has all recommended values: nothing to change.\n"
    )
    # Of their lines only changed values differ, in the same order and with the same ends.
    rest = iter(new.split(b"\n"))
    for line in current.split(b"\n"):
        if b"capacity" not in line and b"flush_method" not in line:
            assert any(line.rstrip(b"\r") == one.rstrip(b"\r") for one in rest), line


def test_the_beginning_of_a_name_counts_as_the_name() -> None:
    """Servers read it so: the later of two lines counts, however its name is written."""
    current = b"[mysqld]\ninnodb_flush_method = fsync\ninnodb_flush_met = fsync\n"
    new = patched_cnf(FACTS, current).decode().splitlines()
    assert new.index("innodb_flush_method = O_DIRECT") > new.index("innodb_flush_method = fsync")
    assert "innodb_flush_met = fsync" not in new


def test_all_else_stays_as_it_is() -> None:
    old = PRODUCTION.decode().splitlines()
    new = patched_cnf(FACTS, PRODUCTION).decode().splitlines()
    assert "  innodb-io-capacity=2000\t # the old disk # really" in new
    kept = [line for line in old if "innodb-io-capacity" not in line]
    rest = iter(new)
    assert all(line in rest for line in kept)  # in this order
    assert new.index("innodb_flush_method = O_DIRECT") < new.index("# backups")
    assert new.index("innodb_flush_method = O_DIRECT") > new.index("skip-name-resolve")


def test_each_change_shows_the_old_value_and_its_effect() -> None:
    text = flat(rendered(FACTS, "diff", PRODUCTION))
    assert "Was 200; measured with 1 other setting; dynamic." in text
    assert "study 3, what is best here" in text


def test_a_switch_becomes_a_line_with_a_value() -> None:
    current = b"[mysqld]\n  skip-innodb-adaptive-hash-index # no\n"
    new = patched_cnf(facts(knobs={"innodb_adaptive_hash_index": "ON"}), current)
    assert b"  innodb_adaptive_hash_index = ON # no\n" in new


def test_a_default_is_written_over_what_the_file_has() -> None:
    given_ = facts(knobs={"innodb_flush_neighbors": "0"})
    new = patched_cnf(given_, b"[mysqld]\ninnodb_flush_neighbors=1\n")
    assert settings_of(new) == {"innodb_flush_neighbors": "0"}
    assert patched_cnf(given_, b"[mysqld]\nport=1\n") == b"[mysqld]\nport=1\n"


def test_values_that_mean_the_same_are_left_alone() -> None:
    current = b"[mysqld]\ninnodb_io_capacity=2000\ninnodb_flush_method='o_direct'\n"
    assert patched_cnf(FACTS, current) == current


def test_what_the_file_has_beside_it_is_named() -> None:
    current = PRODUCTION.replace(b"port    = 3306\n", b"innodb_flush_log_at_trx_commit = 2\n")
    text = flat(rendered(FACTS, "diff", current))
    assert "innodb_buffer_pool_size = 4G (measured with 128M)" in text
    assert "innodb_flush_log_at_trx_commit = 2 (measured with 1); WARNING: it may lose" in text


def test_only_the_groups_of_the_server_count() -> None:
    current = b"[mysqld]\nport=1\n[mariadb]\ninnodb_io_capacity=300\n"
    assert b"innodb_io_capacity=300" in patched_cnf(FACTS, current)
    on_mariadb = patched_cnf(facts(server=MARIADB), current)
    assert settings_of(on_mariadb, MARIADB)["innodb_io_capacity"] == "2000"
    assert b"innodb_io_capacity=2000" in on_mariadb


def test_what_is_no_my_cnf_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="larger than 256 KiB"):
        diff_of(FACTS, b"[mysqld]\n" + b"# x\n" * 100_000)
    with pytest.raises(InvalidConfig, match="is before the first group"):
        diff_of(FACTS, b"port=1\n[mysqld]\n")


def test_files_that_are_included_may_overrule_and_are_named() -> None:
    text = flat(rendered(FACTS, "diff", CURRENT["includes in the group"]))
    assert "The files that it includes were not read; their lines may overrule these" in text
    new = patched_cnf(FACTS, CURRENT["debian"])
    assert new.index(b"!includedir") < new.index(b"[mysqld]") < new.index(b"innodb_io_capacity")


def test_the_users_own_file_is_what_is_exported_without_asking() -> None:
    given_ = facts(file=PRODUCTION)
    assert export(given_, ExportRequest()).data == patched_cnf(FACTS, PRODUCTION)
    assert b"-  innodb-io-capacity=200\t # the old disk" in diff_of(given_, PRODUCTION)
    other = b"[mysqld]\ninnodb_io_capacity = 1\n"
    assert patched_cnf(given_, other).startswith(b"[mysqld]\n# Was 1; ")


def test_names_of_older_servers_are_translated_in_their_lines_with_the_reason() -> None:
    current = (
        b"[mysqld]\nquery_cache_size = 0 # off\n  innodb_log_file_size = 512M # big\n"
        b"innodb_log_files_in_group = 2\nport = 3306\n[mysqld-5.7]\nsync_frm = 1\n"
    )
    new = patched_cnf(FACTS, current).decode()
    assert "# Removed. MySQL 9.7.4 does not have it (removed in 8.0.3).\n# query_cache_size" in new
    assert "# Was innodb_log_file_size = 512M # big (" in new
    assert "  innodb_redo_log_capacity = 1G # big\n" in new
    assert "\n# innodb_log_files_in_group = 2\n" in new
    assert new.endswith("[mysqld-5.7]\nsync_frm = 1\n"), "a group that 9.7 does not read"
    recommended = facts(knobs={"innodb_redo_log_capacity": REDO})
    assert "  innodb_redo_log_capacity = 2G # big\n" in patched_cnf(recommended, current).decode()


def test_a_line_without_an_effect_leaves_the_file_that_won_with_it() -> None:
    current = b"[mysqld]\ninnodb_flush_neighbors=2\ninnodb_io_capacity=2000\n"
    given_ = facts(
        knobs={"innodb_io_capacity": "2000"},
        ablation=[left_out("innodb_flush_neighbors")],
        winner_knobs={"innodb_flush_neighbors": "2"},
        file=current,
    )
    assert export(given_, ExportRequest()).data == (
        b"[mysqld]\n# Removed. No measurable effect: nothing.\n# innodb_flush_neighbors=2\n"
        b"innodb_io_capacity=2000\n"
    )


def test_there_is_no_diff_without_a_file() -> None:
    with pytest.raises(TuningError, match="a diff needs") as refused:
        export(FACTS, ExportRequest("diff"))
    assert refused.value.code == "current_config_needed"


LINES = st.sampled_from(
    [
        b"[mysqld]",
        b"[client]",
        b"[server]",
        b"",
        b"# innodb_io_capacity = 1",
        b"port=1",
        b"innodb_io_capacity=300",
        b"innodb-flush-method = fsync  # x",
        b"loose-innodb_io_capacity = '100'",
        b"innodb_io_capacity = 2000\r",
    ]
)


@pytest.mark.long
@given(st.lists(LINES, max_size=12), st.booleans(), st.text(max_size=60))
def test_any_file_ends_up_with_exactly_these_values(
    lines: list[bytes], ended: bool, text: str
) -> None:
    current = b"\n".join([b"[mysqld]", *lines]) + (b"\n" if ended else b"")
    given_ = facts(study=text, baseline=text)
    new = patched_cnf(given_, current)
    assert settings_of(new) == {**settings_of(current), **FACTS.knobs}
    assert patched_cnf(given_, new) == new
    added = [line for line in new.split(b"\n") if not line.lstrip().startswith(b"#")]
    assert len(added) <= len(current.split(b"\n")) + 4


@pytest.mark.parametrize(
    "text",
    ["--- x\n+++ x\n@@ -1 +1 @@\n-[mysqld]\n+[x]", "Index: other", "1d\n.\n", "*** x", "- --- x"],
)
def test_patch_takes_no_orders_from_texts(text: str, tmp_path: Path) -> None:
    given_ = facts(study=text, device={"data_dir": text, "log_dir": text})
    diff = diff_of(given_, PRODUCTION)
    assert patched_by_patch(PRODUCTION, diff, tmp_path) == patched_cnf(given_, PRODUCTION)


REDO = f"{2 * 1024**3}"
SUPERSEDED = {
    "capacity beside size": (
        {"innodb_log_file_size": REDO, "innodb_log_files_in_group": "3"},
        b"[mysqld]\nport=1\ninnodb-redo-log-capacity=1G\n",
        {"innodb_redo_log_capacity"},
    ),
    "sizes beside capacity, one of them twice": (
        {"innodb_redo_log_capacity": REDO},
        b"[mysqld]\ninnodb_log_file_size=1G # x\nport=1\ninnodb_log_files_in_group=4\n"
        b"innodb_log_file_size=48M\n",
        {"innodb_log_file_size", "innodb_log_files_in_group"},
    ),
    "ceiling": (
        {"innodb_io_capacity": "8000"},
        b"[mysqld]\nport=1\ninnodb_io_capacity_max = 4000\n",
        {"innodb_io_capacity_max"},
    ),
}


@pytest.mark.parametrize(("knobs", "current", "out"), SUPERSEDED.values(), ids=SUPERSEDED)
def test_what_would_overrule_the_recommendation_is_taken_out(
    knobs: dict[str, str], current: bytes, out: set[str], tmp_path: Path
) -> None:
    given_ = facts(server=MYSQL_8, knobs=knobs)
    diff = diff_of(given_, current)
    new = patched_by_patch(current, diff, tmp_path)
    found = settings_of(new, MYSQL_8)
    assert found == {"port": "1", **{n: cnf_value(n, knobs[n], MYSQL_8) for n in knobs}}
    assert out.isdisjoint(found)
    assert broken_rules(Expected(knobs, MYSQL_8)) == []
    assert b"Removed." in new
    assert b"Unchanged, although" not in diff
    for name in out:
        assert f"# {name}".encode() in new.replace(b"-", b"_")
    assert diff_of(given_, new).endswith(b"nothing to change.\n")


def test_a_long_line_that_is_taken_out_leaves_no_option_behind() -> None:
    current = b"[mysqld]\ninnodb_io_capacity_max=4000 #" + b"x" * 4050 + b"port=7\n"
    new = patched_cnf(facts(knobs={"innodb_io_capacity": "8000"}), current)
    assert max(map(len, new.splitlines())) < 4095


def test_a_line_that_the_new_value_makes_too_long_gives_up_its_comment() -> None:
    """Servers read 4,095 bytes of a line, and the rest as an option."""
    old = b"innodb_io_capacity=9 # " + b"x" * 4060 + b" port=7"
    current = b"[mysqld]\n" + old + b"\n"
    new = patched_cnf(facts(knobs={"innodb_io_capacity": "123456789012"}), current)
    assert max(map(len, new.splitlines())) <= 4095
    assert settings_of(new) == {"innodb_io_capacity": "123456789012"}
    assert b"# xxxx" in new


def test_a_file_in_utf_16_is_exported_in_utf_8_and_has_no_diff() -> None:
    current = "\ufeff[mysqld]\r\n# Gr\u00fc\u00dfe\r\ninnodb_io_capacity=200\r\n".encode(
        "utf-16-le"
    )
    new = patched_cnf(FACTS, current)
    assert new.startswith("[mysqld]\r\n# Gr\u00fc\u00dfe\r\n".encode())
    assert settings_of(new) == FACTS.knobs
    with pytest.raises(TuningError, match="neither patch nor the server") as refused:
        diff_of(FACTS, current)
    assert (refused.value.code, refused.value.field) == ("no_diff", "current")


def test_what_the_users_file_breaks_by_itself_is_the_users() -> None:
    current = b"[mysqld]\ninnodb_redo_log_capacity=1G\ninnodb_log_file_size=48M\n"
    new = patched_cnf(facts(server=MYSQL_8, knobs={"innodb_io_capacity": "8000"}), current)
    assert new.startswith(current)


def test_the_merged_file_is_no_d0_with_lines_of_the_user_that_are_not() -> None:
    current = b"[mysqld]\nskip-innodb-doublewrite\nsync_binlog=0\n"
    text = flat(rendered(FACTS, "diff", current))
    top, _, _ = text.partition("Tested with:")
    assert "WARNING: your own innodb_doublewrite = OFF, which is kept, may lose" in top
    assert "your own sync_binlog = 0, which is kept, may lose" in top
    assert "WARNING" not in flat(rendered(FACTS, "diff", PRODUCTION)).partition("Tested with:")[0]
    dedicated = b"[mysqld]\ninnodb_dedicated_server=ON\n"
    given_ = facts(server=MYSQL_8, knobs={"innodb_io_capacity": "8000"})
    top, _, _ = flat(rendered(given_, "diff", dedicated)).partition("Tested with:")
    assert "your own innodb_dedicated_server = ON, which is kept, may lose" in top
