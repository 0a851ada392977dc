"""The profile of a real server, as it is stored."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.readback import effective_values, shown_redo_bytes
from tuning.configs.values import usable
from tuning.configs.variables import CAPACITY, REDO, has_capacity

_WITH_VALUES = frozenset(Kind) - {Kind.PATH, Kind.STRING, Kind.FLAG}


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
    def knobs(self) -> dict[str, str]:
        """The tuning variables in normalised form, the redo log under the name that counts.

        Values that the server cannot have, as in a paste that was edited, are unknown.
        """
        target = self.target
        knobs = {k.name: k for k in load_catalogue().tunable(target) if k.kind in _WITH_VALUES}
        shown = effective_values(knobs, self.variables, target)
        found = {name: usable(knobs[name], text, target) for name, text in shown.items()}
        if has_capacity(target):
            found = {name: value for name, value in found.items() if name not in REDO}
            if self.redo_bytes is not None:
                found[CAPACITY] = f"{self.redo_bytes}"
        return {name: value for name, value in found.items() if value}

    @property
    def other_data_bytes(self) -> int | None:
        """Bytes of tables and indexes in other engines; None if no table was seen."""
        found = [one for one in self.sizes if one.engine.lower() != "innodb"]
        return sum(one.data_bytes + one.index_bytes for one in found) if self.sizes else None

    @property
    def redo_turn_s(self) -> float | None:
        """Seconds in which as much redo is written as the log holds."""
        return ratio(self.redo_bytes, self.per_second("Innodb_os_log_written"))

    @property
    def binlog_per_hour(self) -> float | None:
        """Bytes of binary log written per hour, on average since the start if not counted."""
        if self.variables.get("log_bin") == "OFF":
            return 0
        rate = self.per_second("Binlog_bytes_written")
        if rate is None:
            rate = ratio(self.binlog_bytes, self.second.get("Uptime"))
        return None if rate is None else rate * 3600

    @property
    def checkpoint_share(self) -> float | None:
        """The checkpoint age divided by the size of the redo log."""
        return ratio(self.checkpoint_age, self.redo_bytes)

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


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return a share; None if either is unknown or the whole is 0."""
    return part / whole if part is not None and whole else None
