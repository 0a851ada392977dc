"""How a user narrows the space of a search, and which knobs it has if the user names none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuning.errors import TuningError


class BadSpace(TuningError):
    """The space cannot be made: unknown_knob, bad_bounds, bad_pin, empty_space, bad_count."""


@dataclass(frozen=True)
class SpaceRequest:
    """The request of a search: which knobs it may change.

    count: how many knobs, by their priority; None leaves it to the advisor. names: exactly these
    instead. free: these in any case, beside those that are chosen. pinned: values that every
    candidate has. bounds: (low, high) as a my.cnf has them, for a number. base: what the baseline
    sets; what the search does not change stays as it is.
    """

    count: int | None = None
    names: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    base: Mapping[str, str] = field(default_factory=dict)


# The order in which knobs get into a space. The first ones moved throughput most: they carry most
# of what a search wins on the recorded surface (docs/explanation/search.md). The others follow the
# whitepaper and the advice of Percona and of MySQL's manual.
PRIORITY = (
    "innodb_buffer_pool_size",
    "innodb_log_writer_threads",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_thread_concurrency",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_doublewrite_pages",
    "innodb_lru_scan_depth",
    "performance_schema",
    "innodb_log_buffer_size",
    "innodb_flush_neighbors",
    "binlog_row_image",
    "innodb_adaptive_hash_index",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_spin_wait_delay",
    "innodb_write_io_threads",
    "innodb_read_io_threads",
    "innodb_purge_threads",
    "innodb_max_dirty_pages_pct",
    "innodb_change_buffering",
    "innodb_use_fdatasync",
    "innodb_use_native_aio",
    "innodb_purge_batch_size",
    "table_open_cache",
    "table_open_cache_instances",
    "innodb_numa_interleave",
)
# More make the search harder than they are worth; fewer leave too much unchanged.
DEFAULT_COUNT = 14
MAX_COUNT = 20
