"""Options that are no knobs, and why: so that a pasted production my.cnf gets useful answers.

What is not named here is refused all the same, only with a less exact reason.
"""

from __future__ import annotations

import re

from tuning.catalogue.target import ServerTraits

_OWN = "the advisor sets this itself for every run; delete this line"
PATH = "names a file or directory, and the advisor places files itself; delete this line"
_CODE = "loads or runs code, which no config may do; delete this line"
STUDY = "binary logging is chosen for the whole study, not by one config; delete this line"
_ACCESS = "decides who may reach the server, and the advisor sets that itself; delete this line"
_REPLICA = "belongs to replication or clustering, which is not measured; delete this line"
_PREFIX = "sets a limit, not a value; set the knob itself"

# fmt: off
_NAMES = {
    _OWN: """
        admin_address admin_port basedir bind_address character_sets_dir datadir
        innodb_fast_shutdown lc_messages_dir local_infile log_error mysqlx mysqlx_bind_address
        mysqlx_port mysqlx_socket name_resolve networking open_files_limit persisted_globals_load
        pid_file port secure_file_priv server_id socket ssl tls_version tmpdir user
    """,
    PATH: """
        aria_log_dir_path chroot general_log_file innodb_data_file_path innodb_data_home_dir
        innodb_directories innodb_redo_log_archive_dirs innodb_tmpdir keyring_file_data log
        log_slow_queries relay_log relay_log_index slow_query_log_file
    """,
    _CODE: """
        allow_suspicious_udfs audit_log component early_plugin_load init_connect init_file
        init_replica init_slave plugin_dir plugin_load plugin_load_add
    """,
    STUDY: "log_bin_basename log_bin_index",
    _ACCESS: """
        authentication_policy auto_generate_certs default_authentication_plugin grant_tables
        mysql_native_password old_passwords require_secure_transport
    """,
    _REPLICA: "log_replica_updates log_slave_updates report_host",
}
_PATTERNS = (
    (_CODE, r"(early_)?plugin_.*|.*_plugin|wsrep_.*|component_.*|init_(file|connect).*"),
    (_ACCESS, r"ssl_.*|tls_.*|admin_.*|caching_sha2_.*|sha256_.*"),
    (_REPLICA, r"(slave|replica|replicate|master|source|group_replication|relay|rpl)_.*"),
    (PATH, r".*_(file|path|dir|dirs|directory|filename|basename)"),
    (_PREFIX, r"maximum_.*"),
)
# fmt: on
_REASONS = {name: reason for reason, names in _NAMES.items() for name in names.split()}
_RENAMED = {"tx_isolation": "transaction_isolation", "table_cache": "table_open_cache"}
# Variables of older servers that are in no catalogue: nothing is lost where they are left out.
# Source: MySQL Reference Manuals 5.7 to 8.4, "Server System Variables" and the release notes.
_GONE_FROM_MYSQL = {
    (5, 7, 0): "innodb_additional_mem_pool_size innodb_use_sys_malloc thread_concurrency",
    (8, 0, 0): """
        innodb_file_format innodb_file_format_check innodb_file_format_max innodb_large_prefix
        innodb_locks_unsafe_for_binlog innodb_stats_sample_pages innodb_undo_logs log_warnings
        max_tmp_tables metadata_locks_cache_size metadata_locks_hash_instances
        query_cache_limit query_cache_min_res_unit query_cache_wlock_invalidate secure_auth
        sync_frm
    """,
}


def other_name(name: str) -> str | None:
    """What an old option of that name is called today."""
    return _RENAMED.get(name)


def gone_since(name: str, target: ServerTraits) -> str | None:
    """The version that removed a variable no catalogue has; None where it may still be there."""
    for version, names in _GONE_FROM_MYSQL.items():
        if not target.mariadb and target.version >= version and name in names.split():
            return f"{version[0]}.{version[1]}"
    return None


def refusal(name: str) -> str | None:
    """Why an option that is not in the catalogue may not be set; None when nothing is known.

    `name` has underscores; prefixes such as `skip_` are looked through.
    """
    if name in _RENAMED:
        return f"is called {_RENAMED[name]} in an option file"
    bare = re.sub(r"^(skip|disable|enable)_", "", name)
    for candidate in (name, bare):
        if candidate in _REASONS:
            return _REASONS[candidate]
    for reason, pattern in _PATTERNS:
        if re.fullmatch(pattern, name) or re.fullmatch(pattern, bare):
            return reason
    return None
