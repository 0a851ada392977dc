"""The catalogue says what the servers that are here say of themselves, asked and running."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
import pytest

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from tuning.catalogue.facts import Computed, Dynamic, Limits
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits

pytestmark = pytest.mark.server

# What --help prints for these is not what a started server has.
HELP_MISLEADS = {
    "lower_case_table_names",  # 2 when there is no data directory
    "table_open_cache_instances",  # MariaDB lowers it when it may open few files
}
# Upper bounds that the limit on open files, or max_connections in its place, lowers further.
LOWERED_FURTHER = {"table_open_cache", "max_connections", "thread_cache_size", "query_cache_size"}
# Empty in MySQL 5.7's help, or still when it runs, where it means what the catalogue says.
EMPTY_IN_57 = {"innodb_flush_method", "innodb_temp_data_file_path"}
# A started server fills these in, from what the host or the test's own options give it.
FILLED_IN = {"innodb_log_group_home_dir", "innodb_undo_directory", "table_open_cache_instances"}

READ_ONLY = 1238
NOT_OF_A_SESSION = 1229
GLOBAL_ONLY = {Dynamic.GLOBAL, Dynamic.PARTLY, Dynamic.NO_EFFECT}


def help_of(binary: ServerBinary, *options: str) -> dict[str, str]:
    """Variables and their values as the server prints them after reading these options."""
    # MySQL 5.7 prints nothing where its packaged default for that directory does not exist.
    asked = ["--no-defaults", "--user=root", "--secure-file-priv="]
    finished = subprocess.run(
        [binary.path, *asked, *options, "--verbose", "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    _, found, table = finished.stdout.partition("Variables (--variable-name=value)")
    assert found, finished.stderr[-2000:]
    rows = re.findall(r"^([a-z][a-z0-9-]+)[ \t]+(.*?)[ \t]*$", table, re.MULTILINE)
    return {name.replace("-", "_"): value for name, value in rows}


def catalogued(kinds: set[Kind] | None = None) -> list[Knob]:
    return [
        knob
        for knob in load_catalogue().knobs.values()
        if knob.kind is not Kind.FLAG and (kinds is None or knob.kind in kinds)
    ]


def test_the_same_variables_exist(any_server: ServerBinary) -> None:
    target = ServerTraits.of(any_server)
    shown = help_of(any_server)
    assert [k.name for k in catalogued() if k.exists_in(target) != (k.name in shown)] == []


def test_the_defaults_are_the_same(any_server: ServerBinary) -> None:
    target = ServerTraits.of(any_server)
    shown = help_of(any_server)
    differing = {}
    for knob in catalogued():
        default = knob.default(target)
        if not knob.exists_in(target) or isinstance(default, Computed):
            continue
        said = {"(No default value)": None, "": None}.get(shown[knob.name], shown[knob.name])
        if set(knob.values(target)) >= {"ON", "OFF"} or knob.kind is Kind.BOOL:
            said = {"TRUE": "ON", "FALSE": "OFF"}.get(said or "", said)
        empty = said is None and target.series == (5, 7) and knob.name in EMPTY_IN_57
        if default != said and not empty and knob.name not in HELP_MISLEADS:
            differing[knob.name] = (default, said)
    assert differing == {}


@pytest.mark.parametrize(
    ("asked", "expected"), [("low", "low"), ("below", "low"), ("high", "high"), ("above", "high")]
)
def test_the_servers_clamp_at_our_limits(
    asked: str, expected: str, any_server: ServerBinary
) -> None:
    target = ServerTraits.of(any_server)
    wanted: dict[str, float] = {}
    limits: dict[str, Limits] = {}
    for knob in catalogued({Kind.INT, Kind.BYTES, Kind.FLOAT}):
        found = knob.limits(target)
        if found is None or not knob.exists_in(target) or knob.name in HELP_MISLEADS:
            continue
        value = {
            "low": found.low,
            "below": found.low - 1,
            "high": found.high,
            "above": found.high + 1,
        }[asked]
        # 0 often stands for "choose yourself"; below it and from 2^64 on there is no number, and
        # above the largest number with a sign MySQL 5.7 stops reading InnoDB's options.
        if not 0 < value < 2**64 or value == 2**63:
            continue
        if not (knob.name in LOWERED_FURTHER and expected == "high"):
            wanted[knob.name], limits[knob.name] = value, found
    shown = help_of(any_server, *(f"--{name}={value}" for name, value in wanted.items()))
    # MySQL 5.7 prints sync_binlog's upper half with a sign.
    got = {name: float(shown[name].replace("-1", "4294967295")) for name in wanted}
    assert len(got) > 5
    assert got == {name: float(getattr(limits[name], expected)) for name in wanted}


def test_the_servers_take_every_word_of_ours_and_no_other(any_server: ServerBinary) -> None:
    target = ServerTraits.of(any_server)
    words = {
        knob.name: knob.values(target)
        for knob in catalogued({Kind.ENUM})
        if knob.exists_in(target)
    }
    for place in range(max(map(len, words.values()), default=0)):
        asked = {name: given[place % len(given)] for name, given in words.items()}
        shown = help_of(any_server, *(f"--{name}={word}" for name, word in asked.items()))
        said = {
            name: {"TRUE": "ON", "FALSE": "OFF"}.get(shown[name], shown[name]) for name in words
        }
        assert said == asked


@pytest.fixture(scope="module")
def started(
    any_server: ServerBinary,
    pristine_data_dir: Callable[[ServerBinary], Path],
    server_session_tmp: Path,
) -> Iterator[ServerInstance]:
    """A server with no options but those for its files."""
    place = server_session_tmp / f"started-{any_server.digest[:12]}"
    place.mkdir(parents=True)
    shutil.copytree(pristine_data_dir(any_server), place / "data")
    with running_server(
        any_server,
        data_dir=place / "data",
        run_dir=place / "run",
        options={},
    ) as server:
        yield server


def test_a_started_server_has_the_defaults(started: ServerInstance) -> None:
    target = ServerTraits.of(started.binary)
    variables = started.variables()
    differing = {}
    for knob in catalogued():
        default = knob.default(target)
        if not knob.exists_in(target) or isinstance(default, Computed) or knob.name in FILLED_IN:
            continue
        shown = variables[knob.variable(target)]
        if re.fullmatch(r"\d+\.\d+", shown):
            shown = f"{float(shown):g}"
        empty = not shown and (default is None or knob.name in EMPTY_IN_57)
        if shown != default and not empty:
            differing[knob.name] = (default, shown)
    assert differing == {}


def test_a_running_server_lets_itself_be_changed_as_we_say(started: ServerInstance) -> None:
    target = ServerTraits.of(started.binary)
    differing = {}
    with started.connect() as connection, connection.cursor() as cursor:

        def takes(scope: str, knob: Knob) -> bool:
            name = knob.variable(target)
            value = "module_trx" if name == "innodb_monitor_enable" else f"@@GLOBAL.{name}"
            try:
                cursor.execute(f"SET {scope} {name} = {value}")
            except pymysql.err.OperationalError as refused:
                if refused.args[0] in (READ_ONLY, NOT_OF_A_SESSION):
                    return False
                raise
            return True

        for knob in catalogued():
            said = knob.dynamic(target)
            if not knob.exists_in(target):
                continue
            if takes("GLOBAL", knob):
                seen = {Dynamic.SESSION} if takes("SESSION", knob) else GLOBAL_ONLY
            else:
                seen = {Dynamic.RESTART}
            if said not in seen:
                differing[knob.name] = said
    assert differing == {}
