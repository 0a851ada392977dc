"""What we say the server will make of a config is what it makes of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.errors import RunFailed
from benchmarks.host.cgroups import host_memory
from benchmarks.processes.users import open_files
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.trial import Trial, try_config
from benchmarks.tests.quick import QUICK
from tuning.catalogue.target import ANY_VERSION, ServerTraits
from tuning.configs.check import import_cnf, refused_stages, started_stages
from tuning.configs.expected import Expected, HostFacts
from tuning.configs.parse import server_group
from tuning.configs.readback import differences, signature
from tuning.configs.rules import broken_rules, remarks
from tuning.configs.variables import CAPACITY, INSTANCES, POOL, SIZE, has_capacity

pytestmark = [pytest.mark.server]

MIB = 1024**2


@dataclass
class Server:
    """One server and the way to try knobs on it."""

    binary: ServerBinary
    pristine: Path
    scratch: Path

    @property
    def target(self) -> ServerTraits:
        return ServerTraits.of(self.binary)

    def attempt(self, knobs: dict[str, str]) -> Trial:
        return try_config(
            self.binary,
            QUICK | knobs,
            pristine=self.pristine,
            work_dir=self.scratch / "trials",
            redo_bytes=Expected(knobs, self.target).redo() or 0,
        )


@pytest.fixture
def server(
    any_server: ServerBinary,
    pristine_data_dir: Callable[[ServerBinary], Path],
    server_session_tmp: Path,
) -> Server:
    return Server(any_server, pristine_data_dir(any_server), server_session_tmp)


def pool_of(server: Server, size: int, instances: int) -> dict[str, str]:
    """Knobs of a buffer pool of `size` bytes, in so many parts where the server knows any."""
    parts = {} if server.target.mariadb else {INSTANCES: f"{instances}"}
    return {POOL: f"{size}"} | parts


def test_the_buffer_pool_is_rounded_as_we_say(server: Server) -> None:
    """Others are in the starts of the tests below."""
    knobs = pool_of(server, 1900 * MIB, 16) | {"back_log": "77"}
    variables = server.attempt(knobs).variables
    check_pool(server, knobs, variables)
    assert variables["back_log"] == "77"


def check_pool(server: Server, knobs: dict[str, str], variables: dict[str, str]) -> None:
    cpus = HostFacts(logical_cpus=2)  # with 2 or 7 of them it is one instance
    expected = Expected(knobs, server.target, cpus)
    assert int(variables[POOL]) == expected.pool()
    if not server.target.mariadb and server.target.version < (8, 4, 0):
        assert int(variables[INSTANCES]) == expected.instances(int(variables[POOL]))
    noted = [n.detail for n in remarks(expected) if n.name == POOL]
    assert bool(noted) == (variables[POOL] != knobs[POOL])


def check_redo(server: Server, knobs: dict[str, str], shown: dict[str, str]) -> None:
    redo = Expected(knobs, server.target).redo()
    if has_capacity(server.target):
        # SHOW has the variable's own default where the old pair decides.
        assert SIZE in knobs or int(shown[CAPACITY]) == redo
    else:
        files = int(shown.get("innodb_log_files_in_group", "1"))
        assert int(shown[SIZE]) * files == redo


def test_defaults_we_count_on_are_the_servers(server: Server) -> None:
    """io_capacity_max below the default of io_capacity is lowered in silence, as the rule says."""
    low, many = {"innodb_io_capacity_max": "150"}, {"table_open_cache": "500000"}
    knobs = {POOL: f"{1025 * MIB}"} | low | many  # none of them changes another
    variables = server.attempt(knobs).variables
    check_pool(server, knobs, variables)
    check_redo(server, knobs, variables)
    assert variables["innodb_io_capacity"] == "150"
    assert broken_rules(Expected(low, server.target))
    host = HostFacts(host_memory_bytes=host_memory(), open_files=open_files())
    [note] = remarks(Expected(many, server.target, host))
    said = re.search(r"effective (\d+)", note.detail)
    assert said is not None
    assert abs(int(variables["table_open_cache"]) - int(said[1])) <= 200  # a few of its own files


def test_equal_effects_have_equal_signatures(server: Server) -> None:
    target = server.target
    low, high = (pool_of(server, 1100 * MIB + more, 8) for more in (1, 1000))
    one, two = (server.attempt(knobs).variables for knobs in (low, high))
    check_pool(server, low, one)
    other = one | {"back_log": "77"}  # which a start above reads back
    assert signature(one, target) == signature(two, target)
    assert signature(one, target) != signature(other, target)


def test_a_redo_log_of_the_old_variables_is_no_default_one(server: Server) -> None:
    """8.0.30 to 8.4 show the default capacity beside the old pair, which sizes the log."""
    target = server.target
    if target.mariadb or not (8, 0, 30) <= target.version < (9, 0, 0):
        return  # one of the two is not there
    half = 64 * MIB
    old = {"innodb_log_file_size": f"{half}", "innodb_log_files_in_group": "2"}
    new = {"innodb_redo_log_capacity": f"{2 * half}"}
    said = [signature(server.attempt(asked).variables, target, asked) for asked in (old, new, {})]
    assert said[0] != said[2]
    assert said[0] == said[1]


OLD = """\
[mysqld]
innodb_buffer_pool_size = 40M
innodb_log_file_size = 32M
innodb_log_files_in_group = 2
query_cache_type = 0
query_cache_size = 0
query_cache_limit = 1M
innodb_large_prefix = 1
innodb_page_cleaners = 1
innodb_thread_concurrency = 0
innodb_empty_free_list_algorithm = backoff
innodb_use_global_flush_log_at_trx_commit = 1
innodb_max_purge_lag_delay = 30000000
innodb_flush_method = O_DIRECT
innodb_support_xa = 1
tx_isolation = READ-COMMITTED
thread_handling = pool-of-threads
innodb_checksum_algorithm = crc32
table_cache = 400
"""


def test_a_translated_file_starts_and_reads_back_as_translated(server: Server) -> None:
    """On Oracle's servers all of it must go; MariaDB has some, so only what is refused may go."""
    data = OLD
    if server.target.mariadb or server.target.version < (8, 0, 0):
        data = data.replace("query_cache_limit = 1M\ninnodb_large_prefix = 1\n", "")
    report = import_cnf(data.encode(), "old.cnf", server.target, translate_from=ANY_VERSION)
    assert report.problems == ()
    trial = server.attempt(report.knobs)
    assert differences(report.knobs, trial.variables, server.target) == []
    check_pool(server, report.knobs, trial.variables)
    check_redo(server, report.knobs, trial.variables)
    asked = started_stages(
        report.knobs,
        trial.variables,
        server.target,
        log_tail=trial.log_tail,
        seconds=trial.seconds,
    )
    assert all(stage.passed for stage in (*report.stages, *asked))


def test_the_servers_refusal_names_the_line(server: Server) -> None:
    with pytest.raises(RunFailed) as refused:
        server.attempt({"back_log": "lots"})
    knobs, error = {"back_log": "99"}, refused.value
    [stage, _] = refused_stages("mine", knobs, error, {"back_log": 3})
    assert (stage.problems[0].name, stage.problems[0].line) == ("back_log", 3)
    assert stage.outcome == refused.value.code


def test_the_groups_it_reads_are_the_groups_we_read(server: Server) -> None:
    text = subprocess.run(
        [server.binary.path, "--no-defaults", "--help", "--verbose", "--user=root"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    match = re.search(r"The following groups are read: (.*)", text)
    assert match is not None
    assert [g for g in match[1].split() if not server_group(g, server.target)] == []
    for group in ("client", "mysqldump", "mysqld_safe", "mysqld-1.0", "mariadb-1.0"):
        assert not server_group(group, server.target)
