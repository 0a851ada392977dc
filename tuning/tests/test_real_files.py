"""Files of all kinds are taken as they are: only planted typos and bad values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.datasets.golden import initialized_data_dir
from benchmarks.servers.binary import ServerBinary, known_options
from benchmarks.servers.trial import try_config
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.check import import_cnf
from tuning.configs.expected import UNKNOWN, HostFacts
from tuning.configs.line import Fate

FOLDER = Path(__file__).parent / "mycnf"
FILES = sorted(FOLDER.glob("*.cnf"))
PLANTED = yaml.safe_load((FOLDER / "planted.yaml").read_text())


def planted(path: Path, target: ServerTraits) -> list[int]:
    """The lines that are refused; one in quotes is refused by MariaDB only."""
    lines = PLANTED.get(path.stem, [])
    return [int(line) for line in lines if target.mariadb or isinstance(line, int)]


def check_all(target: ServerTraits, host: HostFacts) -> None:
    for path in FILES:
        found = import_cnf(path.read_bytes(), path.stem, target, host=host)
        assert [problem.line for problem in found.problems] == planted(path, target), path.stem
        plain = {Fate.MEASURED, Fate.APPLIED}
        assert all(line.reason for line in found.lines if line.fate not in plain), path.stem


def test_there_are_enough_kinds() -> None:
    assert len(FILES) >= 40
    assert set(PLANTED) <= {path.stem for path in FILES}


@pytest.mark.parametrize(
    "target", ["mysql 9.7", "mysql 8.4", "mysql 8.0", "mariadb 10.11", "mariadb 11.8"]
)
def test_only_what_is_planted_is_refused(target: str) -> None:
    check_all(parse_traits(target), UNKNOWN)


@pytest.mark.server
def test_the_hosts_own_server_says_the_same(any_server: ServerBinary) -> None:
    options = known_options(any_server)
    assert {"tmp_table_size", "plugin_load", "user", "binlog_do_db"} <= options
    check_all(ServerTraits.of(any_server), HostFacts(server_options=options))


@pytest.mark.server
@pytest.mark.long
def test_the_server_starts_with_what_is_set(any_server: ServerBinary, server_tmp: Path) -> None:
    target = ServerTraits.of(any_server)
    host = HostFacts(
        server_options=known_options(any_server), memory_budget_bytes=512 << 20, connections=4
    )
    pristine = initialized_data_dir(any_server, server_tmp)
    started = 0
    for path in FILES[::4]:  # each start takes one to three seconds
        found = import_cnf(path.read_bytes(), path.stem, target, host=host)
        options = {**found.applied, **found.knobs}
        if found.problems or not options:
            continue
        options = {name: value for name, value in options.items() if "redo" not in name}
        options.pop("innodb_log_file_size", None)  # of GiB: only slow here
        trial = try_config(
            any_server,
            options,
            pristine=pristine,
            work_dir=server_tmp / "trials",
        )
        assert trial.variables, path.stem
        started += 1
    assert started > 5
