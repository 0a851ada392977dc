"""A study's candidates: presets fitted to the server, and the user's files, or every problem."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import (
    PlannedCandidate,
    plan_candidates,
    plan_file,
    plan_knobs,
    plan_preset,
)
from tuning.configs.expected import HostFacts
from tuning.configs.situation import Situation
from tuning.configs.values import config_hash
from tuning.errors import InvalidConfig
from tuning.study_templates.loader import load_template

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MIB = 1024**2
RESOURCES = HostResources(8 * 1024**3, 8, data_bytes=1000 * MIB)


def plan(*files: tuple[str, bytes]) -> list[PlannedCandidate]:
    return plan_candidates(load_template("quick"), files, Situation(MYSQL, RESOURCES))


def test_the_baseline_comes_first_then_presets_then_files() -> None:
    planned = plan(("mine", b"[mysqld]\ninnodb_io_capacity=2000\n"))
    assert [c.name for c in planned] == [
        "server-default",
        "whitepaper-1",
        "whitepaper-2",
        "whitepaper-3",
        "whitepaper-a",
        "mine",
    ]
    assert [c.is_baseline for c in planned] == [True] + 5 * [False]
    assert planned[0].knobs == {}
    assert planned[-1].knobs == {"innodb_io_capacity": "2000"}


def test_presets_are_sized_and_explained() -> None:
    config_2 = plan()[2]
    assert config_2.knobs["innodb_buffer_pool_size"] == str(60 * MIB)
    assert config_2.knobs["innodb_redo_log_capacity"] == str(3 * 1024 * MIB)
    noted = {note.name for note in config_2.notes}
    assert {"datadir", "innodb_checksum_algorithm", "innodb_buffer_pool_size"} <= noted
    assert "Table 6" in config_2.source


def test_the_five_configs_differ() -> None:
    assert len({config_hash(c.knobs) for c in plan()}) == 5


def test_a_users_file_is_taken_as_it_is_not_scaled() -> None:
    candidate = plan_file("mine", b"[mysqld]\ninnodb_buffer_pool_size=3G\n", MYSQL)
    assert candidate.knobs == {"innodb_buffer_pool_size": str(3 * 1024 * MIB)}


def test_the_problems_of_all_files_come_together() -> None:
    with pytest.raises(InvalidConfig) as refused:
        plan(("a", b"[mysqld]\nfoo=1\nport=1\n"), ("b", b"x"), ("c", b"[mysqld]\nbar\n"))
    assert [(p.source, p.line) for p in refused.value.problems] == [
        ("a", 2),
        ("b", 1),
        ("c", 2),
    ]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("whitepaper-1", b"[mysqld]\nsync_binlog=1\n", "another candidate has this name"),
        (" ", b"[mysqld]\nsync_binlog=1\n", "needs a name"),
        ("a\nb", b"[mysqld]\nsync_binlog=1\n", "needs a name"),
        ("x" * 61, b"[mysqld]\nsync_binlog=1\n", "needs a name"),
        ("empty", b"", "has no options"),
    ],
)
def test_files_that_are_no_candidate(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(InvalidConfig, match=reason):
        plan((name, data))


def test_a_dedicated_80_keeps_its_fsync_where_there_is_no_direct_io() -> None:
    target = ServerTraits(Flavour.MYSQL, (8, 0, 46))
    resources = HostResources(memory_bytes=8 << 30, logical_cpus=4, data_bytes=1 << 30)
    without = HostFacts(direct_io=False)
    planned = plan_preset("dedicated-server", Situation(target, resources, without))
    assert planned.knobs["innodb_flush_method"] == "fsync"
    details = [note.detail for note in planned.notes if note.name == "innodb_flush_method"]
    assert any(detail.startswith("fsync: ") for detail in details)


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"enforce_gtid_consistency": "OFF"}, {"enforce_gtid_consistency": "ON"}),
        ({"gtid_mode": "ON", "enforce_gtid_consistency": "ON"}, None),
        ({"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}, None),
    ],
)
def test_gtids_of_a_stored_config_are_as_in_a_file_on_a_newer_server(
    knobs: dict[str, str], expected: dict[str, str] | None
) -> None:
    old = ServerTraits(Flavour.MYSQL, (8, 4, 10))
    planned = plan_knobs("stored", knobs, MYSQL, source="", translate_from=old)
    assert planned.knobs == (expected or knobs)
    lines = "".join(f"{name}={value}\n" for name, value in knobs.items())
    file = plan_file("file", f"[mysqld]\n{lines}".encode(), MYSQL, translate_from=old)
    assert file.knobs == planned.knobs
    assert [note.name for note in planned.notes] == [*(expected or {})]
