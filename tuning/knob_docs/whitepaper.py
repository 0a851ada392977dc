"""The whitepaper's parameters on current servers: docs/whitepaper-parameters.md."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.catalogue.timeline import reached
from tuning.configs.files.refusals import refusal
from tuning.configs.presets.loader import load_preset
from tuning.configs.values import BadValue, normalise, paper_number
from tuning.knob_docs.wording import default_words, removal_words, version_words

PAPER_SERVERS = (
    ServerTraits(Flavour.MYSQL, (5, 7, 11)),
    ServerTraits(Flavour.PERCONA, (5, 7, 11)),
)
COLUMNS = {
    "MySQL 8.0": ServerTraits(Flavour.MYSQL, (8, 0, 46)),
    "MySQL 8.4": ServerTraits(Flavour.MYSQL, (8, 4, 10)),
    "MySQL 9.x": ServerTraits(Flavour.MYSQL, (9, 7, 4)),
    "Percona Server 8.0": ServerTraits(Flavour.PERCONA, (8, 0, 46)),
    "MariaDB 10.11": ServerTraits(Flavour.MARIADB, (10, 11, 19)),
}
PRESETS = ("whitepaper-1", "whitepaper-2", "whitepaper-3", "whitepaper-6", "whitepaper-a")
# The parameters of Appendix A in its order, by the tables that have them.
_TABLES = {
    "6, 8": """
        datadir innodb_log_group_home_dir innodb_undo_directory innodb_temp_data_file_path
        innodb_page_cleaners innodb_buffer_pool_instances innodb_adaptive_hash_index
        innodb_fill_factor innodb_write_io_threads innodb_read_io_threads query_cache_size
        log_timestamps table_open_cache table_open_cache_instances back_log max_connections
        max_prepared_stmt_count innodb_open_files innodb_checksum_algorithm
        innodb_max_dirty_pages_pct innodb_max_dirty_pages_pct_lwm innodb_lru_scan_depth
        join_buffer_size sort_buffer_size innodb_spin_wait_delay innodb_max_purge_lag_delay
        innodb_monitor_enable performance_schema
    """,
    "6": """
        tmpdir lc_messages_dir explicit_defaults_for_timestamp innodb_io_capacity_max
        innodb_use_native_aio
    """,
    "5, 6, 8": """
        innodb_buffer_pool_size innodb_flush_neighbors innodb_io_capacity innodb_log_file_size
        innodb_log_files_in_group innodb_thread_concurrency innodb_flush_method
    """,
    "5": """
        innodb_doublewrite innodb_page_size innodb_flush_log_at_trx_commit read_ahead_buffer
        innodb_log_block_size innodb_adaptive_checkpoint
    """,
    "7": """
        innodb_cleaner_lsn_age_factor innodb_corrupt_table_action innodb_empty_free_list_algorithm
        innodb_kill_idle_transaction innodb_max_bitmap_file_size innodb_max_changed_pages
        innodb_parallel_doublewrite_path innodb_show_locks_held innodb_show_verbose_locks
        innodb_track_changed_pages innodb_use_global_flush_log_at_trx_commit max_binlog_files
        max_slowlog_files max_slowlog_size query_cache_strip_comments
    """,
}
PARAMETERS = {name: tables for tables, names in _TABLES.items() for name in names.split()}
_PRINTED_AS = {
    "innodb_use_native_aio": "innodb_use_native_io",
    "lc_messages_dir": "lc-messages-dir",
}
_NO_VARIABLE = {
    "read_ahead_buffer": "see `innodb_read_ahead_threshold`",
}
_HEAD = """# The whitepaper's parameters on current servers

"Accelerating OLTP performance with NVMe SSDs" (2016) lists its parameters in Tables 5 to 8 of its
Appendix A, for MySQL and Percona Server 5.7. This page shows what has become of each of them on
current servers. It is generated from the catalogue of variables (`tuning/catalogue/knobs.yaml`,
which has the source of every fact) by `manage.py knobs_docs`. What is sized or dropped for the
actual server is shown line by line in every study.

The servers are {servers}.
"Kept" compares the default with that of the paper's server, 5.7.11.
"""


@dataclass(frozen=True)
class Availability:
    """What became of a parameter on one server: a keyword, and the details in words."""

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}{': ' if self.detail else ''}{self.detail}"


def whitepaper_page() -> str:
    """The page, as Markdown."""
    servers = [f"{target}" for target in COLUMNS.values()]
    lines = [_HEAD.format(servers=f"{', '.join(servers[:-1])} and {servers[-1]}")]
    lines.append(f"| Parameter | Table | {' | '.join(COLUMNS)} |")
    lines.append(f"| --- | --- |{' --- |' * len(COLUMNS)}")
    for name in sorted(PARAMETERS):
        printed = f" (there `{_PRINTED_AS[name]}`)" if name in _PRINTED_AS else ""
        fates = " | ".join(f"{fate(name, target)}" for target in COLUMNS.values())
        lines.append(f"| `{name}`{printed} | {PARAMETERS[name]} | {fates} |")
    return "\n".join(lines) + "\n"


def fate(name: str, target: ServerTraits) -> Availability:
    """What became of a parameter of the paper on the target."""
    knob = load_catalogue().get(name)
    if knob is None:
        if refusal(name) is None:
            return Availability("no variable", _NO_VARIABLE[name])
        return Availability("a path", "set by the advisor")
    if not knob.exists_in(target):
        return _gone(knob, target)
    if knob.set_by is SetBy.ADVISOR:
        return Availability("a path", f"set by the advisor{_end(knob, target)}")
    return _there(knob, target)


def _gone(knob: Knob, target: ServerTraits) -> Availability:
    facts = knob.facts(target)
    successor = load_catalogue().get(facts.successor) if facts.successor else None
    when = ""
    if reached(target.version, facts.removed):
        when = f"removed {removal_words(facts.removed[0])}"
    accepted = "the name is still accepted, with a warning" if facts.tolerated else ""
    details = [part for part in (when, accepted) if part]
    if successor is not None and successor.exists_in(target):
        return Availability("replaced", "; ".join([f"by `{successor.name}`", *details]))
    if not details:
        only = Flavour.MYSQL not in knob.flavours
        return Availability("not available", "Percona Server only" if only else "")
    return Availability("dropped", "; ".join(details))


def _there(knob: Knob, target: ServerTraits) -> Availability:
    before = next((default_words(knob, s) for s in PAPER_SERVERS if knob.exists_in(s)), None)
    now = default_words(knob, target)
    end = _end(knob, target) + _values_lost(knob, target)
    if before is None or before == now:
        return Availability("kept", f"{now}{end}")
    return Availability("default changed", f"{before} → {now}{end}")


def _end(knob: Knob, target: ServerTraits) -> str:
    facts = knob.facts(target)
    if reached(target.version, facts.ignored):
        said = "; accepted, but without effect"
    elif reached(target.version, facts.deprecated):
        said = f"; deprecated since {version_words(facts.deprecated[0])}"
    else:
        return ""
    return f"{said}, use `{facts.successor}`" if facts.successor else said


def _values_lost(knob: Knob, target: ServerTraits) -> str:
    """The paper's values that the target does not accept, or that are unsafe."""
    said: dict[str, str] = {}
    for preset in PRESETS:
        text = load_preset(preset).knobs.get(knob.name, "")
        if not text:
            continue
        try:
            value = normalise(knob, text if knob.values(target) else _plain(text), target)
        except BadValue:
            limits = knob.limits(target)
            most = f" (at most {limits.high:.0f})" if limits else ""
            said[text] = f"is not accepted{most}"
            continue
        for rule in knob.durability:
            if rule.matches(value, {}):
                said[text] = f"is of durability class {rule.durability}"
    return "".join(f"; the paper's `{text}` {what}" for text, what in said.items())


def _plain(text: str) -> str:
    try:
        return f"{paper_number(text)}"
    except ValueError:
        return text
