"""A made-up output of the script, as the mysql client prints it in batch mode."""

from __future__ import annotations

from collections.abc import Mapping

VARIABLES = {
    "version": "8.4.6",
    "version_comment": "MySQL Community Server - GPL",
    "hostname": "db1.example.net",
    "port": "3306",
    "report_password": "hunter2",
    "wsrep_sst_auth": "root:hunter2",
    "datadir": "/var/lib/mysql/",
    "max_connections": "500",
    "innodb_buffer_pool_size": "8589934592",
    "innodb_redo_log_capacity": "104857600",
    "innodb_io_capacity": "200",
    "innodb_flush_log_at_trx_commit": "1",
    "table_open_cache": "400",
    "log_bin": "ON",
    "sync_binlog": "1",
}
FIRST = {
    "Uptime": 86_400,
    "Questions": 10_000_000,
    "Com_commit": 1_000_000,
    "Com_insert": 2_000_000,
    "Com_update": 2_000_000,
    "Innodb_os_log_written": 500_000_000_000,
    "Innodb_buffer_pool_reads": 1_000_000,
    "Innodb_buffer_pool_read_requests": 100_000_000,
    "Innodb_redo_log_current_lsn": 900_080_000_000,
    "Innodb_redo_log_checkpoint_lsn": 900_000_000_000,
    "Created_tmp_disk_tables": 5_000,
    "Created_tmp_tables": 20_000,
    "Table_open_cache_misses": 90_000,
    "Max_used_connections": 180,
    "Threads_connected": 120,
    "Threads_running": 9,
}
GROWN = {
    "Uptime": 60,
    "Questions": 60_000,
    "Com_commit": 6_000,
    "Com_insert": 9_000,
    "Com_update": 9_000,
    "Innodb_os_log_written": 700_000_000,
    "Innodb_buffer_pool_reads": 12_000,
    "Innodb_buffer_pool_read_requests": 1_200_000,
    "Created_tmp_disk_tables": 60,
    "Created_tmp_tables": 240,
    "Table_open_cache_misses": 1_200,
}


def output(
    variables: Mapping[str, str] | None = None,
    *,
    grown: Mapping[str, int] = GROWN,
    host: str = "db1.example.net",
    separator: str = "\t",
    began: int = 1_790_000_000,
) -> str:
    """Return the output of a server with these variables in place of the usual ones."""
    shown = VARIABLES | {"hostname": host} | dict(variables or {})
    second = {name: value + grown.get(name, 0) for name, value in FIRST.items()}
    server = (shown["version"], shown["hostname"], shown["port"])
    rows: list[tuple[object, ...]] = [
        ("profile_begin", *server, began),
        ("profile_variables",),
        ("Variable_name", "Value"),
        *shown.items(),
        ("profile_status",),
        ("Variable_name", "Value"),
        *FIRST.items(),
        ("profile_status",),
        ("Variable_name", "Value"),
        *second.items(),
        ("profile_size", "shop", "InnoDB", 40, 60_000_000_000, 20_000_000_000),
        ("profile_size", "logs", "MyISAM", 2, 1_000_000, 0),
        ("profile_end", *server, began + 61),
        ("profile_file", "wait/io/file/sql/binlog", 86_460_000_000),
    ]
    return "\n".join(separator.join(map(str, row)) for row in rows) + "\n"
