"""Options that no config may set, with why, so that a production my.cnf gets useful messages.

An option that is not named here is refused as well, but with a less exact reason.
"""

from __future__ import annotations

import re

from benchmarks.servers.forbidden import Reason, why_forbidden
from tuning.catalogue.target import ServerTraits

STUDY = "binary logging is set for the whole study, not by a config; delete this line"
_REPLICA = "belongs to replication or clustering, which is not measured; delete this line"
_PREFIX = "sets a limit, not a value; set the variable itself"

_REASONS: dict[str, str] = {
    "local_infile": Reason.OWN,  # set by our own loader
    "log_bin_basename": STUDY,
    "log_bin_index": STUDY,
    "log_replica_updates": _REPLICA,
    "log_slave_updates": _REPLICA,
    "report_host": _REPLICA,
}
_OF_REPLICAS = re.compile(r"(slave|replica(te)?|master|source|group_replication|relay|rpl)_.*")
_RENAMED = {"tx_isolation": "transaction_isolation", "table_cache": "table_open_cache"}
# Variables of older servers that are not in the catalogue and can be left out without loss.
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
    """The current name of an old option."""
    return _RENAMED.get(name)


def gone_since(name: str, target: ServerTraits) -> str | None:
    """The version that removed a variable outside the catalogue; None if it may still exist."""
    for version, names in _GONE_FROM_MYSQL.items():
        if not target.mariadb and target.version >= version and name in names.split():
            return f"{version[0]}.{version[1]}"
    return None


def refusal(name: str) -> str | None:
    """Why an option that is not in the catalogue may not be set; None if unknown.

    `name` has underscores; prefixes such as `skip_` are ignored.
    """
    if name in _RENAMED:
        return f"is called {_RENAMED[name]} in an option file"
    bare = re.sub(r"^(skip|disable|enable)_", "", name)
    reason = _REASONS.get(bare) or why_forbidden(bare)
    if reason in (None, Reason.PATH) and _OF_REPLICAS.fullmatch(bare):
        return _REPLICA
    return reason or (_PREFIX if bare.startswith("maximum_") else None)
