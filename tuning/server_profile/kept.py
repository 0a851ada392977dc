"""Choose what is kept of a server's output: names on these lists, everything else is dropped.

A list of what may stay holds back secrets that nobody thought of. Host names and addresses are
never kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits

#: Variables that are no knobs of the catalogue and that figures or remarks need.
VARIABLES = frozenset(
    {
        *("innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group"),
        *("tmp_table_size", "max_heap_table_size", "read_only", "binlog_expire_logs_seconds"),
        *("open_files_limit", "thread_stack", "read_buffer_size", "read_rnd_buffer_size"),
        *("log_bin", "binlog_row_image", "version_comment", "innodb_doublewrite"),
    }
)
#: Counters, which only grow while a server runs.
COUNTERS = frozenset(
    {
        *("Questions", "Com_select", "Com_commit", "Com_rollback", "Com_xa_commit"),
        *("Com_insert", "Com_insert_select", "Com_replace", "Com_replace_select"),
        *("Com_update", "Com_update_multi", "Com_delete", "Com_delete_multi"),
        *("Innodb_os_log_written", "Innodb_log_waits", "Innodb_buffer_pool_wait_free"),
        *("Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests"),
        *("Innodb_data_fsyncs", "Innodb_pages_written", "Innodb_rows_read"),
        *("Innodb_row_lock_waits", "Innodb_row_lock_time", "Innodb_deadlocks"),
        *("Created_tmp_tables", "Created_tmp_disk_tables", "Sort_merge_passes"),
        *("Select_scan", "Select_full_join", "Handler_read_rnd_next", "Threads_created"),
        *("Table_open_cache_misses", "Table_open_cache_hits", "Opened_tables"),
        *("Binlog_bytes_written", "Binlog_cache_disk_use", "Binlog_cache_use"),
        *("Aborted_clients", "Aborted_connects", "Connections", "Uptime"),
    }
)
#: Levels of the moment.
GAUGES = frozenset(
    {
        *("Threads_connected", "Threads_running", "Max_used_connections", "Open_tables"),
        *("Innodb_buffer_pool_pages_total", "Innodb_buffer_pool_pages_free"),
        *("Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_data"),
        *("Innodb_checkpoint_age", "Innodb_redo_log_current_lsn"),
        *("Innodb_redo_log_checkpoint_lsn", "Innodb_history_list_length"),
    }
)
_PLAIN = re.compile(r"[\w.,:+() -]{0,100}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,10})?", re.ASCII)


def kept_variables(read: Mapping[str, str], target: ServerTraits) -> dict[str, str]:
    """Return the variables that are kept, without paths."""
    catalogue = load_catalogue().knobs.values()
    knobs = {
        one.variable(target)
        for one in catalogue
        if one.exists_in(target) and one.kind not in (Kind.PATH, Kind.STRING)
    }
    wanted = knobs | VARIABLES
    return {
        name: value
        for name, value in read.items()
        if name in wanted and _PLAIN.fullmatch(value) is not None
    }


def kept_status(read: Mapping[str, str]) -> dict[str, float]:
    """Return the counters and levels that are kept."""
    return {
        name: float(value)
        for name, value in read.items()
        if name in COUNTERS | GAUGES and _NUMBER.fullmatch(value) is not None
    }
