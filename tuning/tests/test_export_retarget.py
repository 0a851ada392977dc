"""A recommendation for another server is translated, and never passes for measured there."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import ServerTraits
from tuning.configs.notes import Action
from tuning.configs.presets.loader import preset_names
from tuning.export.formats import ExportRequest, export
from tuning.export.lines import default_of
from tuning.export.my_cnf import render_my_cnf
from tuning.export.retarget import retarget
from tuning.tests.export_cases import (
    FACTS,
    MARIADB,
    MYSQL,
    MYSQL_8,
    MYSQL_57,
    facts,
    flat,
    knobs_in,
    preset_facts,
)


def test_the_measured_server_is_named_in_every_place() -> None:
    text = flat(render_my_cnf(retarget(FACTS, MARIADB)))
    assert "WARNING: translated for MariaDB 10.11.19, on which nothing was measured." in text
    assert "All figures are from MySQL 9.7.4." in text
    assert "Server:     MySQL 9.7.4" in text
    assert "Not tested: MariaDB 10.11.19: every figure is from MySQL 9.7.4" in text
    assert "Measured on MySQL 9.7.4 together with 1 other setting: +42.4 % tpmP" in text


def test_renamed_and_dropped_lines_are_listed_at_the_top_and_in_the_file() -> None:
    knobs = {"innodb_redo_log_capacity": f"{3 * 1024**3}", "innodb_thread_concurrency": "64"}
    translated = retarget(facts(knobs=knobs), MARIADB)
    text = render_my_cnf(translated)
    assert knobs_in(text, MARIADB)["innodb_log_file_size"] == f"{3 * 1024**3}"
    top, _, rest = flat(text).partition("Study:")
    assert "renamed: innodb_redo_log_capacity; dropped: innodb_thread_concurrency" in top
    assert "innodb_thread_concurrency (dropped): MariaDB 10.11.19 does not have it" in rest
    assert "innodb_redo_log_capacity (renamed):" in rest


def test_what_ran_is_translated_and_not_what_was_asked_for() -> None:
    given = facts(
        knobs={"table_open_cache": "8000"}, candidate_variables={"table_open_cache": "7995"}
    )
    assert retarget(given, MYSQL_8).knobs["table_open_cache"] == "7995"


def test_defaults_are_the_targets() -> None:
    """2000 of 9.7's read-back is no default of 8.0, and 8.0's default is to be left out."""
    given = facts(
        knobs={"innodb_io_capacity": "200", "innodb_flush_neighbors": "1"},
        baseline_variables={"innodb_io_capacity": "10000", "innodb_flush_neighbors": "0"},
    )
    assert knobs_in(render_my_cnf(given)) == given.knobs
    translated = render_my_cnf(retarget(given, MARIADB))
    assert "innodb_io_capacity = 200" not in translated
    assert "Left out" in translated


def test_a_value_that_was_the_default_there_is_written_where_it_is_not() -> None:
    given = facts(knobs={"innodb_flush_neighbors": "0"})
    assert knobs_in(render_my_cnf(given)) == {}
    text = render_my_cnf(retarget(given, MARIADB))
    assert knobs_in(text, MARIADB)["innodb_flush_neighbors"] == "0"
    assert "had the same value, so its effect was not measured" in flat(text)


def test_nothing_gets_less_durable_by_the_targets_defaults() -> None:
    """MariaDB does not sync its binary log by default; the measured MySQL did."""
    translated = retarget(facts(candidate_variables={"sync_binlog": "1"}), MARIADB)
    text = render_my_cnf(translated)
    assert knobs_in(text, MARIADB)["sync_binlog"] == "1"
    assert "Written because 0, the default of MariaDB 10.11.19, may lose" in flat(text)
    [note] = [note for note in translated.notes if note.name == "sync_binlog"]
    assert note.action is Action.ADJUSTED
    assert "sync_binlog" not in retarget(facts(server=MARIADB), MYSQL).knobs


@pytest.mark.parametrize("variables", [{}, {"innodb_flush_method": "O_DIRECT"}], ids=["", "shown"])
@pytest.mark.parametrize("flavour", [Flavour.MYSQL, Flavour.PERCONA])
def test_a_dedicated_server_flushes_its_data_files_on_8_0_as_well(
    flavour: Flavour, variables: dict[str, str]
) -> None:
    target = ServerTraits(flavour, (8, 0, 46))
    given = facts(knobs={"innodb_dedicated_server": "ON"}, candidate_variables=variables)
    text = render_my_cnf(retarget(given, target))
    assert knobs_in(text, target)["innodb_flush_method"] == "O_DIRECT"
    assert "O_DIRECT_NO_FSYNC" in flat(text)
    assert "D0: nothing in this file" in text
    less_safe = {"innodb_dedicated_server": "ON", "innodb_doublewrite": "OFF"}
    given = facts(knobs=less_safe, candidate_variables=variables)
    assert retarget(given, target).knobs["innodb_flush_method"] == "O_DIRECT"


def test_defaults_that_differ_are_named_as_not_tested() -> None:
    text = flat(render_my_cnf(retarget(FACTS, MYSQL_8)))
    assert "defaults that differ (measured server; this server):" in text
    assert "innodb_change_buffer_max_size (5; 25)" in text
    assert "innodb_io_capacity (" not in text  # which a line sets


def test_there_and_back_is_what_was_measured() -> None:
    given = facts(candidate_variables={"innodb_io_capacity": "2000"})
    assert retarget(given, MYSQL) is given
    assert retarget(retarget(given, MARIADB), MYSQL) is given
    assert retarget(retarget(given, MARIADB), MYSQL_8) == retarget(given, MYSQL_8)


def test_a_request_names_the_target() -> None:
    exported = export(FACTS, ExportRequest("sql", target=MARIADB))
    assert exported.file_name == "set-persist.sql"
    assert "SET GLOBAL innodb_io_capacity = 2000;" in exported.text
    assert "translated for MariaDB 10.11.19" in exported.text


@pytest.mark.parametrize("there", [MYSQL, MYSQL_57, MARIADB], ids=str)
@pytest.mark.parametrize("here", [MYSQL, MYSQL_8, MYSQL_57, MARIADB], ids=str)
def test_presets_pass_the_gate_of_every_server(there: ServerTraits, here: ServerTraits) -> None:
    for name in preset_names():
        given = retarget(preset_facts(name, there), here)
        written = knobs_in(render_my_cnf(given), here)
        assert written.items() <= given.knobs.items(), name
        for left_out in given.knobs.keys() - written.keys():
            assert default_of(left_out, given) == given.knobs[left_out], name
