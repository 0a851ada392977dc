"""The steps on a profiled server: what it has already is none, and the order is a safe one."""

from __future__ import annotations

import pytest

from tuning.catalogue.loader import load_catalogue
from tuning.export.changes import ChangeMode
from tuning.export.lines import Line
from tuning.server_profile.configs import own_knobs, proposals_for
from tuning.server_profile.profile import Profile
from tuning.server_profile.reading import read_profile, rows_of
from tuning.server_profile.steps import sql_of, steps_of, untested
from tuning.server_profile.tests.made_up import output

POOL = "innodb_buffer_pool_size"
GIB = 1024**3


def profile(**variables: str) -> Profile:
    variables = {"innodb_io_capacity_max": "400"} | variables
    return read_profile(rows_of(output(variables)), memory_bytes=16 * GIB)


def line(name: str, value: str, in_model: str = "") -> Line:
    return Line(
        name=name,
        requested=value,
        value=value,
        effective=value,
        default=None,
        written=True,
        changed=True,
        knob=load_catalogue().knobs[name],
        dynamic=None,
        in_model=in_model,
        evidence="measured alone",
    )


LINES = [
    line(POOL, str(12 * GIB), in_model=str(160 * 1024**2)),
    line("innodb_redo_log_capacity", str(4 * GIB)),
    line("innodb_io_capacity", "2000"),
    line("innodb_io_capacity_max", "4000"),
    line("innodb_read_io_threads", "16"),
    line("max_connections", "500"),
]


def test_what_the_server_has_is_no_step_and_limits_come_before_values() -> None:
    steps = steps_of(profile(), LINES)
    names = [one.name for one in steps]
    assert "max_connections" not in names
    assert names.index("innodb_io_capacity_max") < names.index("innodb_io_capacity")
    modes = [one.how for one in steps]
    assert modes == sorted(modes, key=lambda mode: mode is not ChangeMode.NOW)
    threads = next(one for one in steps if one.name == "innodb_read_io_threads")
    assert (threads.how, threads.sql, threads.cnf) == (
        ChangeMode.RESTART,
        (),
        "innodb_read_io_threads = 16",
    )


def test_a_step_names_its_old_value_its_way_back_and_what_to_watch() -> None:
    steps = {one.name: one for one in steps_of(profile(), LINES)}
    redo = steps["innodb_redo_log_capacity"]
    assert redo.sql == (f"SET PERSIST innodb_redo_log_capacity = {4 * GIB};",)
    assert redo.back == (
        "RESET PERSIST IF EXISTS innodb_redo_log_capacity;",
        "SET GLOBAL innodb_redo_log_capacity = 104857600;",
    )
    assert redo.before == "100M"
    assert "Innodb_redo_log_resize_status" in redo.watch
    assert redo.basis == "measured alone"
    assert "16 % of the data, 75 % of the memory" in steps[POOL].basis


def test_a_redo_log_of_the_two_old_variables_has_their_size() -> None:
    old = {"innodb_log_file_size": str(2 * GIB), "innodb_log_files_in_group": "2"}
    found = profile(**old)
    assert found.redo_bytes == 4 * GIB
    assert own_knobs(found)["innodb_redo_log_capacity"] == str(4 * GIB)
    assert "innodb_redo_log_capacity" not in [one.name for one in steps_of(found, LINES)]
    larger = [line("innodb_redo_log_capacity", str(8 * GIB))]
    [step] = [one for one in steps_of(found, larger) if one.name == larger[0].name]
    assert (step.before, step.back[-1]) == (
        "4G",
        f"SET GLOBAL innodb_redo_log_capacity = {4 * GIB};",
    )


def test_a_line_that_only_the_server_sets_goes_back_to_its_default() -> None:
    steps = {one.name: one for one in steps_of(profile(), LINES)}
    assert steps["table_open_cache"].sql == ("SET PERSIST table_open_cache = 4000;",)


def test_limits_that_an_application_may_need_are_never_lowered() -> None:
    lowered = [line("max_connections", "151"), line("table_open_cache", "100")]
    assert not {"max_connections", "table_open_cache"} & {
        one.name for one in steps_of(profile(), lowered)
    }
    assert "max_connections" not in [one.name for one in steps_of(profile(), [])]


def test_the_scripts_undo_each_other_in_reverse_order() -> None:
    scripts = sql_of(steps_of(profile(), LINES))
    applied = [text.split()[2] for text in scripts["apply"].splitlines()]
    undone = [text.split()[2] for text in scripts["back"].splitlines() if text.startswith("SET")]
    assert undone == applied[::-1]


def test_mariadb_has_no_persistence() -> None:
    steps = steps_of(profile(version="10.11.19-MariaDB"), [line("innodb_io_capacity", "2000")])
    [capacity] = [one for one in steps if one.name == "innodb_io_capacity"]
    assert capacity.sql == ("SET GLOBAL innodb_io_capacity = 2000;",)


def test_the_default_of_mysql_57_is_the_page_cache_too() -> None:
    found = profile(version="5.7.44", innodb_flush_method="", innodb_buffer_pool_size=f"{9 * GIB}")
    assert "profile-direct-io" in [one.name for one in proposals_for(found)]


@pytest.mark.parametrize("value", ["abc", "-1", "1.5", "18446744073709551615"])
@pytest.mark.parametrize("name", ["innodb_io_capacity", "max_connections", "table_open_cache"])
def test_a_value_that_no_server_has_is_unknown(name: str, value: str) -> None:
    found = profile(**{name: value})
    assert name not in own_knobs(found)
    steps = steps_of(found, [line(name, "2000")])
    assert [one.before for one in steps if one.name == name] == [None]


@pytest.mark.parametrize("name", ["innodb_buffer_pool_instances", "innodb_buffer_pool_chunk_size"])
def test_the_parts_of_the_pool_may_be_unknown(name: str) -> None:
    assert POOL in [one.name for one in steps_of(profile(**{name: "abc"}), LINES)]


def test_loads_that_tpc_c_does_not_have_are_listed() -> None:
    assert any("Temporary tables on disk: 1 per second" in one for one in untested(profile()))
