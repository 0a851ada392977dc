"""Which rows make up a study, and how a row becomes JSON and a row again.

A row is `{"id": number, column: value, link: number}`; numbers are those of the installation that
wrote it, and mean something only within one bundle. Columns that a newer version added get
their default, unknown ones are passed over: that is how old bundles stay readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Field, ForeignKey, Model

from benchmarks.models import (
    ACTIVE_JOB_STATES,
    ACTIVE_RUN_STATES,
    Config,
    CrashTest,
    Device,
    Run,
    Server,
    Workload,
)
from tuning.bundles.errors import damaged
from tuning.models import (
    ACTIVE_STUDY_STATES,
    Candidate,
    CrashSlot,
    Elimination,
    Recommendation,
    Slot,
    Study,
    StudyAction,
)

#: Of the process that did a job, not of what it found.
_OF_THE_JOB = {"claimed_by", "heartbeat_at", "stop_request"}


@dataclass(frozen=True)
class Table:
    """A table of a bundle. `links`: columns that lead to rows of other tables, or of this one.

    `lists`: names that lead to several of them.
    `unfinished`: states that no row of an ended study has. `left_out`: columns that are about this
    installation, or in files of their own.
    """

    name: str
    model: type[Model]
    links: Mapping[str, str] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    lists: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Field[Any, Any]]:
        """The model's own values by name."""
        return {
            one.name: one
            for one in self.model._meta.concrete_fields
            if not one.primary_key
            and not isinstance(one, ForeignKey)
            and one.name not in self.left_out | _OF_THE_JOB
        }

    def dump(self, rows: Iterable[Model]) -> list[dict[str, Any]]:
        columns = self.columns
        return [
            {
                "id": row.pk,
                **{name: _plain(getattr(row, name)) for name in columns},
                **{link: getattr(row, f"{link}_id") for link in self.links},
                **{
                    name: list(getattr(row, name).order_by("pk").values_list("pk", flat=True))
                    for name in self.lists
                },
            }
            for row in rows
        ]

    def values(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of a row, checked one by one. Raises BundleRefused."""
        found = {
            name: _read(self, column, document[name])
            for name, column in self.columns.items()
            if name in document
        }
        if found.get("state") in self.unfinished:
            raise damaged(f"a row of {self.name} has the state {found['state']}")
        return found


#: In the order in which they are written: links lead to tables before, or to the table itself.
TABLES = (
    Table("servers", Server),
    Table("devices", Device, left_out=frozenset({"retired_at"})),
    Table("workloads", Workload, lists={"load_hosts": "hosts"}, left_out=frozenset({"load_key"})),
    Table("configs", Config),
    Table(
        "studies",
        Study,
        {"server": "servers"},
        tuple(ACTIVE_STUDY_STATES),
        frozenset({"runs_to_queue"}),
    ),
    Table(
        "candidates",
        Candidate,
        {
            "study": "studies",
            "config": "configs",
            "server": "servers",
            "taken_from": "candidates",
            "merged_into": "candidates",
        },
    ),
    Table(
        "runs",
        Run,
        {
            "device": "devices",
            "server": "servers",
            "workload": "workloads",
            "config": "configs",
            "retry_of": "runs",
        },
        tuple(ACTIVE_RUN_STATES),
        frozenset({"log_tail", "live"}),
    ),
    Table(
        "slots",
        Slot,
        {
            "study": "studies",
            "candidate": "candidates",
            "device": "devices",
            "workload": "workloads",
            "run": "runs",
        },
    ),
    Table("actions", StudyAction, {"study": "studies"}),
    Table(
        "eliminations",
        Elimination,
        {
            "study": "studies",
            "candidate": "candidates",
            "device": "devices",
            "workload": "workloads",
        },
    ),
    Table(
        "crash_tests",
        CrashTest,
        {
            "device": "devices",
            "server": "servers",
            "workload": "workloads",
            "config": "configs",
        },
        tuple(ACTIVE_JOB_STATES),
    ),
    Table(
        "crash_slots",
        CrashSlot,
        {
            "study": "studies",
            "candidate": "candidates",
            "device": "devices",
            "workload": "workloads",
            "test": "crash_tests",
        },
    ),
    Table(
        "recommendations",
        Recommendation,
        {
            "study": "studies",
            "device": "devices",
            "workload": "workloads",
            "candidate": "candidates",
            "whole": "candidates",
        },
    ),
)


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _read(table: Table, column: Field[Any, Any], raw: Any) -> Any:
    if raw is None:
        if not column.null:
            raise damaged(f"{column.name} of {table.name} is empty")
        return None
    try:
        value = column.to_python(raw)
        column.run_validators(value)
    except (ValidationError, TypeError, ValueError, OverflowError) as error:
        raise damaged(f"{column.name} of {table.name} cannot be read") from error
    if isinstance(value, float) and not isfinite(value):
        raise damaged(f"{column.name} of {table.name} is no number")
    if column.choices and value not in dict(column.flatchoices):
        raise damaged(f"{column.name} of {table.name} cannot be {str(value)[:40]!r}")
    return value
