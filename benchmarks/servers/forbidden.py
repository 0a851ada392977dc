"""Options that no run may set, and why: file locations, network access, code to load.

The config check keeps such lines out of a run with these reasons; `benchmarks.servers.options`
refuses them once more, for configs that did not pass the check.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Reason(StrEnum):
    """The reason, as a sentence to follow the option's name."""

    OWN = "the advisor sets this itself for every run"
    PATH = "names a file or directory, and the advisor places files itself"
    CODE = "loads or runs code, which no run may do"
    ACCESS = "decides who may reach the server, and the advisor sets that itself"


# fmt: off
_NAMES = {
    Reason.OWN: """
        admin_address admin_port basedir bind_address character_sets_dir datadir
        innodb_fast_shutdown lc_messages lc_messages_dir local_infile log_error log_error_services
        mysqlx mysqlx_bind_address mysqlx_port mysqlx_socket name_resolve networking
        open_files_limit percona_telemetry_disable persisted_globals_load pid_file port
        secure_file_priv server_id socket ssl tls_version tmpdir user
    """,
    Reason.PATH: """
        aria_log_dir_path chroot general_log_file innodb_data_file_path innodb_data_home_dir
        innodb_directories innodb_log_group_home_dir innodb_redo_log_archive_dirs innodb_tmpdir
        keyring_file_data language log log_basename log_bin_basename log_bin_index log_isam
        log_slow_queries log_slow_query_file log_tc relay_log relay_log_index replica_load_tmpdir
        slave_load_tmpdir slow_query_log_file symbolic_links
    """,
    Reason.CODE: """
        allow_suspicious_udfs audit_log bootstrap component core_file daemonize debug debug_gdb
        defaults_extra_file defaults_file defaults_group_suffix early_plugin_load feedback gdb
        init_connect init_file init_replica init_slave initialize initialize_insecure
        innodb_interpreter plugin_dir plugin_load plugin_load_add set_variable
    """,
    Reason.ACCESS: """
        authentication_policy auto_generate_certs default_authentication_plugin grant_tables
        mysql_native_password old_passwords require_secure_transport
    """,
}
_PATTERNS = (
    (Reason.CODE, r"(early_)?plugin_.*|.*_plugin|wsrep_.*|component_.*|init_(file|connect).*"),
    (Reason.ACCESS, r"ssl_.*|tls_.*|admin_.*|caching_sha2_.*|sha256_.*"),
    (Reason.CODE, r"debug_.*|feedback_.*|rewriter_.*"),
    (Reason.PATH, r".*_(file|path|dir|dirs|tmpdir|directory|filename|basename)"),
)
# Full names of harmless options that are also the beginning of a name above.
_COMPLETE = frozenset({"general_log", "log_slow_query", "slow_query_log"})
# fmt: on
_REASONS = {name: why for why, names in _NAMES.items() for name in names.split()}
_PREFIXES = ("loose_", "skip_", "enable_", "disable_", "maximum_")


def why_forbidden(name: str) -> Reason | None:
    """Return why no config may set an option; `name` has underscores and no prefix."""
    if name in _REASONS:
        return _REASONS[name]
    return next((why for why, pattern in _PATTERNS if re.fullmatch(pattern, name)), None)


def is_forbidden(name: str) -> bool:
    """Whether a server could accept the name for an option that no config may set.

    Servers look through prefixes and take any unambiguous beginning of a name: `datad` is datadir.
    """
    base = name.lower()
    while prefix := next((one for one in _PREFIXES if base.startswith(one)), None):
        base = base.removeprefix(prefix)
    return (
        base == ""
        or why_forbidden(base) is not None
        or (base not in _COMPLETE and any(full.startswith(base) for full in _REASONS))
    )


def leaves_the_run(value: str | None) -> bool:
    """Whether the value could name a place in a file system; no option of a config needs one."""
    return value is not None and any(one in value for one in "/\\")
