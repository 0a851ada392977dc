"""Published advice as rules, one set per source, of durability class D0 and sized for the host.

What a source advises below D0 (innodb_flush_log_at_trx_commit = 2, sync_binlog = 0,
O_DIRECT_NO_FSYNC) and its advice on a binary log is left out: a study decides that. The server's
own switch and the whitepaper's configs are presets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tuning.configs.effective.expected import GIB, MIB
from tuning.configs.effective.variables import CLEANERS, INSTANCES, IO_CAPACITY, IO_CEILING
from tuning.errors import TuningError
from tuning.proposals.advisor import ADVISOR
from tuning.proposals.citations import FEWER_FSYNCS, FEWER_ROWS, MANUAL, NO_SEEKS, SEEKS
from tuning.proposals.draft import Draft
from tuning.proposals.memory_rules import (
    connections_of_memory,
    instances,
    pool_above_data,
    pool_of_memory,
)
from tuning.proposals.rules import Rule, fixed, on_disk, on_ssd
from tuning.proposals.write_rules import (
    direct_io,
    io_capacity_by_probe,
    io_capacity_of_kind,
    redo_for_an_hour,
    redo_of,
    redo_of_pool,
)


@dataclass(frozen=True)
class RuleSet:
    """Rules in the order in which they are applied; `source` says where they were read."""

    name: str
    title: str
    source: str
    rules: tuple[Rule, ...]


class UnknownProposal(TuningError):
    """There is no proposal of that name."""

    def __init__(self, message: str) -> None:
        super().__init__("unknown_proposal", message)


def _callaghan_threads(draft: Draft) -> None:
    threads = 8 if draft.situation.resources.logical_cpus >= 32 else 4
    draft.set(
        "innodb_purge_threads",
        threads,
        f"{threads} threads purge",
        "mdcallag/mytools, cz12a and cz11e",
    )


def _kravtchuk_instances(draft: Draft) -> None:
    parts = max(draft.situation.resources.logical_cpus // 2, 1)
    said = "dimitrik.free.fr, MySQL 8.0 and the new doublewrite (2020)"
    instances(parts, "half as many as CPUs", said)(draft)
    draft.set(CLEANERS, parts, "one for each part of the buffer pool", said)


def _mysqltuner_instances(draft: Draft) -> None:
    parts = min(draft.pool_bytes // GIB, draft.situation.resources.logical_cpus, 64)
    reason = "one for each GiB of buffer pool, and at most one per CPU"
    instances(max(parts, 1), reason, "MySQLTuner 2.9.1")(draft)


def _mysqltuner_redo(draft: Draft) -> None:
    large = draft.situation.resources.memory_bytes > 8 * GIB
    said = "the minimum that it recommends for that much memory"
    redo_of(GIB if large else 100 * MIB, said, "MySQLTuner 2.9.1")(draft)


_MANUAL_RULES = (
    pool_of_memory(0.5, f"{MANUAL}, 10.5.8: 50 to 75 %, and the driver shares the host"),
    redo_of_pool(1, f"{MANUAL}, 10.5.4: large; MySQL 5.7 manual: as the buffer pool"),
    io_capacity_by_probe(1, f"{MANUAL}, 17.8.7"),
    io_capacity_of_kind("MySQL 8.0 manual, 17.8.7"),
    fixed("innodb_flush_neighbors", 0, NO_SEEKS, f"{MANUAL}, 10.5.8", on_ssd),
    fixed("innodb_flush_neighbors", 1, SEEKS, f"{MANUAL}, 10.5.8", on_disk),
    fixed(
        "innodb_log_writer_threads",
        "OFF",
        "there are few connections",
        f"{MANUAL}, 10.5.4",
        lambda draft: (draft.situation.host.connections or 0) < 64,
    ),
    fixed("innodb_doublewrite_pages", 128, FEWER_FSYNCS, f"{MANUAL}, 10.5.8"),
    fixed("innodb_use_fdatasync", "ON", "does not write a file's metadata", f"{MANUAL}, 10.5.8"),
    fixed("binlog_row_image", "MINIMAL", FEWER_ROWS, f"{MANUAL}, 10.5.8"),
)

_TUNER = "MySQLTuner 2.9.1"
_MYSQLTUNER = (
    pool_above_data(f"{_TUNER}: above the data"),
    _mysqltuner_instances,
    redo_for_an_hour(f"{_TUNER}: what an hour writes", otherwise=_mysqltuner_redo),
    fixed("innodb_flush_neighbors", 0, NO_SEEKS, _TUNER, on_ssd),
    fixed("innodb_flush_neighbors", 1, SEEKS, _TUNER, on_disk),
    fixed(
        IO_CAPACITY,
        2000,
        "200 is too little for an SSD",
        _TUNER,
        lambda draft: on_ssd(draft) and (draft.number(IO_CAPACITY) or 0) <= 200,
    ),
    fixed("innodb_doublewrite_pages", 128, FEWER_FSYNCS, _TUNER),
)

_BLOGS = "Percona blogs, 2019-12-18 to 2020-05-14"
_PERCONA = (
    pool_of_memory(0.75, "Percona: 70 to 80 %"),
    redo_for_an_hour(f"{_BLOGS}: what an hour writes"),
    fixed(IO_CAPACITY, 200, "for idle flushing only: adaptive flushing does not use it", _BLOGS),
    fixed(IO_CEILING, 2000, "the least that works: more wears out an SSD", _BLOGS),
    fixed("innodb_max_dirty_pages_pct_lwm", 0, "no flushing ahead of need", _BLOGS),
    fixed(CLEANERS, 4, "4 are enough", _BLOGS, lambda draft: (draft.number(INSTANCES) or 1) >= 4),
    fixed("innodb_purge_threads", 4, "4 are enough", _BLOGS),
    fixed("innodb_read_io_threads", 4, "4 are enough", _BLOGS),
)

_TOOLS = "mdcallag/mytools, cz12a_c8r32 and cz11e_c32r128 (8.4.6)"


def _callaghan_pool(draft: Draft) -> None:
    small = draft.situation.resources.memory_bytes <= 32 * GIB
    pool_of_memory(0.72 if small else 0.62, _TOOLS)(draft)


_CALLAGHAN = (
    _callaghan_pool,
    redo_of_pool(1.25, _TOOLS),
    fixed("innodb_max_dirty_pages_pct", 90, "flushes late", _TOOLS),
    fixed("innodb_max_dirty_pages_pct_lwm", 80, "flushes late", _TOOLS),
    fixed("innodb_idle_flush_pct", 1, "little flushing when idle", _TOOLS),
    _callaghan_threads,
    fixed("innodb_log_writer_threads", "OFF", "committing threads write the redo log", _TOOLS),
    fixed("innodb_max_purge_lag", 500_000, "writes wait if purge falls behind", _TOOLS),
    fixed(
        "innodb_max_purge_lag_delay",
        1_000_000,
        "for up to a second",
        _TOOLS,
        lambda draft: "innodb_max_purge_lag" in draft.settings,
    ),
)

_POSTS = "dimitrik.free.fr, MySQL 8.0 and the new doublewrite (2020)"
_KRAVTCHUK = (
    fixed("innodb_log_buffer_size", 64 * MIB, "as in the tests there", _POSTS),
    pool_of_memory(0.67, f"{_POSTS}: 128 of 192 GB"),
    _kravtchuk_instances,
    redo_of(16 * GIB, "16 files of 1 GiB", _POSTS),
    fixed(IO_CAPACITY, 20_000, "a fast SSD", _POSTS),
    fixed(IO_CEILING, 40_000, "twice innodb_io_capacity", _POSTS),
    fixed("innodb_flush_neighbors", 0, NO_SEEKS, _POSTS),
    fixed("innodb_read_io_threads", 16, "as in the tests there", _POSTS),
    fixed("innodb_purge_threads", 4, "as in the tests there", _POSTS),
    fixed("innodb_adaptive_hash_index", "OFF", "its latches hurt under writes", _POSTS),
    fixed("innodb_change_buffering", "none", "no benefit on flash", _POSTS),
    direct_io(_POSTS),
    fixed("table_open_cache", 8000, "as in the tests there", _POSTS),
)

_VENDORS = "AWS RDS parameter groups; Azure Database for MySQL, server parameters"
_CLOUD = (
    pool_of_memory(0.75, f"{_VENDORS}: 3/4 of the memory"),
    redo_of(
        2 * GIB, "the largest that Azure offers", "Azure Database for MySQL, server parameters"
    ),
    connections_of_memory(f"{_VENDORS}: memory / 12582880"),
)

RULE_SETS: Mapping[str, RuleSet] = MappingProxyType(
    {
        one.name: one
        for one in (
            RuleSet(
                "advisor",
                "Proposal of the advisor",
                "rules of several sources, chosen by measurements",
                ADVISOR,
            ),
            RuleSet("manual", "MySQL manual", "MySQL Reference Manual 8.0 and 8.4", _MANUAL_RULES),
            RuleSet(
                "mysqltuner", "MySQLTuner", "the rules of 2.9.1 that need no history", _MYSQLTUNER
            ),
            RuleSet("percona", "Percona", "blog posts of 2019 and 2020 on flushing", _PERCONA),
            RuleSet(
                "callaghan", "Mark Callaghan", "benchmark configs for MySQL 8.4.6", _CALLAGHAN
            ),
            RuleSet(
                "kravtchuk",
                "Dimitri Kravtchuk",
                "configs for MySQL 8.0.20, scaled",
                _KRAVTCHUK,
            ),
            RuleSet("cloud", "Cloud vendors", "defaults of AWS RDS and Azure", _CLOUD),
        )
    }
)


def rule_set(name: str) -> RuleSet:
    """The set of that name; raises UnknownProposal, which lists those there are."""
    if name not in RULE_SETS:
        known = ", ".join(RULE_SETS)
        raise UnknownProposal(f"there is no proposal {name!r}; there are: {known}")
    return RULE_SETS[name]
