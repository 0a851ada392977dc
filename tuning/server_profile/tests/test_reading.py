"""An output of the script becomes a profile; what is none is refused with its reason."""

from __future__ import annotations

import json
import re

import pytest

from tuning.errors import InvalidRequest
from tuning.server_profile.figures import figure, figures_of
from tuning.server_profile.profile import Profile
from tuning.server_profile.reading import read_profile, rows_of, script, statements
from tuning.server_profile.tests.made_up import GROWN, output


def profile(text: str, **more: int) -> Profile:
    return read_profile(rows_of(text), **more)  # type: ignore[arg-type]


def refusal(text: str, **more: int) -> tuple[str, str]:
    with pytest.raises(InvalidRequest) as refused:
        profile(text, **more)
    return refused.value.faults[0]


def test_the_figures_of_an_output() -> None:
    found = profile(output(), memory_bytes=16 * 10**9)
    assert str(found.target) == "MySQL 8.4.6"
    assert (found.seconds, found.data_bytes, found.memory_bytes) == (60, 80 * 10**9, 16 * 10**9)
    assert figure(found, "commits") == 100
    assert figure(found, "writes") == 300
    assert figure(found, "peak") == 180
    assert figure(found, "redo_per_hour") == 42 * 10**9
    assert figure(found, "redo_turn") == pytest.approx(8.99, abs=0.01)
    assert figure(found, "checkpoint_age") == 80_000_000
    assert figure(found, "binlog_per_hour") == 3600 * 10**6
    assert figure(found, "pool_miss_share") == 0.01
    assert figure(found, "tmp_disk_share") == 0.25
    assert figure(found, "table_misses") == 20


def test_an_absent_counter_is_unknown_and_not_zero() -> None:
    text = "\n".join(
        line
        for line in output().splitlines()
        if not line.startswith(("Innodb_os_log", "profile_size"))
    )
    found = profile(text)
    by_name = {one.name: one for one in figures_of(found)}
    for name in ("redo_per_hour", "data", "lock_waits", "memory", "redo_turn"):
        assert by_name[name].value is None
        assert "unknown" in by_name[name].text


@pytest.mark.parametrize("separator", ["\t", ",", ";", " | "])
def test_clients_separate_cells_in_several_ways(separator: str) -> None:
    lines = output(separator=separator).splitlines()
    if separator == " | ":
        lines = [line for one in lines for line in ("+---+---+", f"| {one} |")]
    assert profile("\r\n".join(lines)) == profile(output())


def test_secrets_names_of_hosts_and_paths_are_not_kept() -> None:
    found = read_profile(rows_of(output()), hides_names=True)
    kept = json.dumps(found.model_dump(mode="json"))
    for secret in ("hunter2", "example.net", "/var/lib", "shop", "logs"):
        assert secret not in kept
    assert found.dropped_variables == 6
    assert [one.schema_name for one in found.sizes] == ["schema 1", "schema 2"]


def test_mariadb_and_percona_are_told_apart() -> None:
    mariadb = profile(output({"version": "5.5.5-10.11.19-MariaDB-log"}))
    percona = profile(output({"version_comment": "Percona Server (GPL), Release 6"}))
    assert (str(mariadb.target), str(percona.target)) == (
        "MariaDB 10.11.19",
        "Percona Server 8.4.6",
    )


def test_half_an_output_is_refused() -> None:
    lines = output().splitlines()
    for end in range(1, len(lines) - 2):
        field, reason = refusal("\n".join(lines[:end]))
        assert field == "text"
        assert "not complete" in reason
    for begin in range(1, 20):
        assert "not complete" in refusal("\n".join(lines[begin:]))[1]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not the output"),
        ("[mysqld]\ninnodb_io_capacity = 200\n", "not the output"),
        (output() + output(), "more than one"),
        (output() + output(host="db2"), "more than one"),
        (output().replace("profile_end\t8.4.6\tdb1", "profile_end\t8.4.6\tdb2"), "two servers"),
        (output().replace("profile_end\t8.4.6", "profile_end\t8.0.36"), "two servers"),
        (output(grown=GROWN | {"Uptime": -500}), "went back"),
        (output(grown=GROWN | {"Questions": -1}), "Questions went back"),
        (output(grown=GROWN | {"Uptime": 5000}), "two outputs"),
        (output({"version": "5.6.51"}), "not a known version"),
        (output({"version": "TiDB"}), "cannot be read"),
        (re.sub(r"innodb_.*\n", "", output()), "no variable of InnoDB"),
        (output({"aurora_version": "3.04"}), "Aurora"),
        (output().replace("profile_size\tshop\t", "profile_size\t"), "cut"),
        (output().replace("\t1790000061", "\tnow"), "cut"),
        (output().replace("\t1790000000", "\t1790000000.x"), "cut"),
    ],
)
def test_what_is_no_output_of_one_server_is_refused(text: str, word: str) -> None:
    field, reason = refusal(text)
    assert field == "text"
    assert word in reason


def test_memory_below_the_buffer_pool_is_refused_beside_the_memory() -> None:
    field, reason = refusal(output(), memory_bytes=4 * 10**9)
    assert (field, "buffer pool of 8.59 GB" in reason) == ("memory", True)


def test_the_script_only_reads_and_waits_as_long_as_asked() -> None:
    found = statements(7)
    assert {one.split()[0] for one in found} == {"SELECT", "SHOW"}
    assert "SELECT SLEEP(7)" in found
    assert "INTO" not in script().upper().split()
