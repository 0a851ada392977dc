"""The advisor's own proposal: those published rules that measurements supported."""

from __future__ import annotations

from tuning.configs.effective.expected import MIB
from tuning.proposals.citations import FEWER_FSYNCS, FEWER_ROWS, MANUAL, NO_SEEKS, SEEKS
from tuning.proposals.memory_rules import pool_of_data, table_cache
from tuning.proposals.rules import Rule, fixed, on_disk, on_mysql_before, on_ssd
from tuning.proposals.write_rules import (
    cleaner_per_instance,
    direct_io,
    free_pages,
    group_commit,
    io_capacity_by_probe,
    io_capacity_of_kind,
    no_log_writer_threads,
    read_threads,
    redo_for_an_hour,
    redo_of_pool,
)

#: In the order in which they are applied.
ADVISOR: tuple[Rule, ...] = (
    # Before the pool, which leaves room for it.
    fixed(
        "innodb_log_buffer_size",
        64 * MIB,
        "larger transactions fit",
        "default of MySQL 8.4",
        on_mysql_before(8, 4),
    ),
    pool_of_data(
        4,
        0.75,
        "18 to 40 % were measured on 2 CPUs; its share of the memory: innodb_dedicated_server",
    ),
    direct_io("whitepaper 2016, section 4.1; default of MySQL 8.4"),
    redo_for_an_hour(
        "Percona, 2020-05-14: what an hour writes",
        otherwise=redo_of_pool(1, "MariaDB documentation, MySQL 5.7 manual: as the pool"),
    ),
    io_capacity_by_probe(8, "whitepaper 2016, Figure 11: 15000 was best of 120000"),
    io_capacity_of_kind("MySQL 8.0 manual, 17.8.7; MySQLTuner 2.9.1"),
    fixed("innodb_flush_neighbors", 0, NO_SEEKS, f"{MANUAL}, 10.5.8", on_ssd),
    fixed("innodb_flush_neighbors", 1, SEEKS, f"{MANUAL}, 10.5.8", on_disk),
    cleaner_per_instance("default of MySQL 8.4"),
    no_log_writer_threads("source of MySQL 9.7: OFF below 32 CPUs; 18 % were measured on 2"),
    free_pages("Percona, 2020-05-14: as many free pages as are taken"),
    read_threads("default of MySQL 8.4: half of the CPUs, 4 to 64"),
    fixed(
        "innodb_adaptive_hash_index",
        "OFF",
        "under writes its latches cost more than it saves",
        "default of MySQL 8.4; whitepaper 2016, Config #A",
        on_mysql_before(8, 4),
    ),
    fixed(
        "innodb_doublewrite_pages",
        128,
        FEWER_FSYNCS,
        f"{MANUAL}, 10.5.8",
        on_mysql_before(8, 4),
    ),
    table_cache("MySQL manual, table_open_cache: connections times tables"),
    group_commit(f"{MANUAL}, 19.1.6.4"),
    fixed(
        "binlog_row_image", "MINIMAL", FEWER_ROWS, f"{MANUAL}, 10.5.8; 8 % were measured on 2 CPUs"
    ),
    fixed(
        "performance_schema",
        "OFF",
        "no CPU time is spent on instrumentation",
        "Percona Lab, 2026; 5 % were measured on 2 CPUs",
    ),
)
