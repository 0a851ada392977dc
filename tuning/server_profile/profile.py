"""The profile of a real server, as it is stored, and what is kept of a server's output for it.

Everything that is not on the lists below is dropped: so secrets are held back that nobody thought
of. Host names and addresses are never kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.effective.readback import shown_redo_bytes


class SchemaSize(BaseModel):
    """The tables of one engine in one schema."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_name: str = Field(description="A number in place of the name, if names were removed.")
    engine: str
    tables: int
    data_bytes: int
    index_bytes: int


class Profile(BaseModel):
    """The facts of a server. None and absent names are unknown, never zero."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    flavour: Flavour
    version: str
    read_by: Literal["script", "attach"]
    read_at: int = Field(description="Seconds since 1970 by the server's clock.")
    seconds: int = Field(description="Time between the two readings of the counters.")
    variables: dict[str, str]
    first: dict[str, float] = Field(description="Status at the first reading.")
    second: dict[str, float] = Field(description="Status at the second reading.")
    sizes: list[SchemaSize] = Field(description="Empty if the account sees no tables.")
    binlog_bytes: int | None = Field(description="Written since the server started.")
    memory_bytes: int | None = Field(description="Of the host; no server tells it.")
    dropped_variables: int = Field(description="Number of variables that were not kept.")
    dropped_status: int

    @property
    def target(self) -> ServerTraits:
        """The flavour and version, for the catalogue."""
        return parse_traits(f"{self.flavour} {self.version}")

    @property
    def data_bytes(self) -> int | None:
        """Bytes of InnoDB tables and indexes; None if no table was seen."""
        found = [one for one in self.sizes if one.engine.lower() == "innodb"]
        return sum(one.data_bytes + one.index_bytes for one in found) if found else None

    def grown(self, *names: str) -> float | None:
        """How much the counters grew together between the readings; None if all are absent."""
        known = [name for name in names if name in self.first and name in self.second]
        return sum(self.second[name] - self.first[name] for name in known) if known else None

    def per_second(self, *names: str) -> float | None:
        """Growth per second between the two readings."""
        grown = self.grown(*names)
        return None if grown is None or not self.seconds else grown / self.seconds

    def per_second_ever(self, *names: str) -> float | None:
        """The mean per second since the server started."""
        known = [self.second[name] for name in names if name in self.second]
        uptime = self.second.get("Uptime")
        return sum(known) / uptime if known and uptime else None

    def number(self, name: str) -> float | None:
        """Return a variable as a finite number; None if it is unknown or no number."""
        try:
            value = float(self.variables[name])
        except (KeyError, ValueError):
            return None
        return value if math.isfinite(value) else None

    @property
    def redo_bytes(self) -> int | None:
        """The size of the redo log, all files together.

        A server that was given the two old variables still shows the default capacity.
        """
        return shown_redo_bytes(self.variables, self.target, {})

    @property
    def checkpoint_age(self) -> float | None:
        """Bytes of redo log that a crash would have to apply, the larger of both readings."""
        ages = []
        for status in (self.first, self.second):
            current = status.get("Innodb_redo_log_current_lsn")
            checkpoint = status.get("Innodb_redo_log_checkpoint_lsn")
            if "Innodb_checkpoint_age" in status:
                ages.append(status["Innodb_checkpoint_age"])
            elif current is not None and checkpoint is not None:
                ages.append(max(current - checkpoint, 0))
        return max(ages, default=None)


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
