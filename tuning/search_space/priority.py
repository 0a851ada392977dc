"""In which order knobs get into a space: what moved throughput most, as recorded and in papers.

The first ones carry most of what a search wins on the recorded surface
(`docs/explanation/search.md`); the others follow the whitepaper and the advice of Percona and
of MySQL's manual.
"""

from __future__ import annotations

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
