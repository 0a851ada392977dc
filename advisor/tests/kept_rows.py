"""Rows that tests make again and again: Django makes them once, SQLite stores copies of them.

To have Django prepare the hundreds of columns of a study's runs takes most of a short test's time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache, wraps
from itertools import compress
from typing import Any, NamedTuple, TypeVar

from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from benchmarks.models import Config, Device, Host, Run, Sample, Server, Workload
from benchmarks.tests.made_up_host import made_up_host
from tuning.models import Candidate, Elimination, Recommendation, Slot, Study

MakeT = TypeVar("MakeT", bound=Callable[..., Study])

# In an order in which they can be stored.
_MODELS: tuple[type[Model], ...] = (
    *(Host, Device, Server, Workload, Config, Run, Sample),
    *(Study, Study.devices.through, Study.workloads.through, Candidate, Slot),
    *(Elimination, Recommendation),
)
_PLAIN = (str, int, float, datetime, type(None))


class _Table(NamedTuple):
    """`times` are the places of columns with the time at which a row was stored."""

    insert: str
    rows: list[list[Any]]
    times: list[int]
    inventory: int | None


class _Kept(NamedTuple):
    tables: list[_Table]
    study: int
    at: datetime


_KEPT: dict[str, _Kept] = {}


def kept_rows(make: MakeT, among: Callable[[], object] = tuple) -> MakeT:
    """What `make` makes in an empty database of plain arguments is made once per process.

    `among`: what else its rows depend on. Its study is read from the database.
    """

    @wraps(make)
    def made(**values: Any) -> Study:
        is_known = connection.vendor == "sqlite" and _is_plain(values) and _is_empty()
        if not is_known:
            return make(**values)
        key = repr((make.__name__, sorted(values.items()), among()))
        if key in _KEPT:
            _store_again(_KEPT[key])
        else:
            begun, study = timezone.now(), make(**values)
            tables = [table for model in _MODELS if (table := _read(model)).rows]
            _KEPT[key] = _Kept(tables, study.pk, begun)
        return Study.objects.get(pk=_KEPT[key].study)

    return made  # type: ignore[return-value]


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _is_empty() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_anything())
        return cursor.fetchone() is None


@cache
def _anything() -> str:
    return " UNION ALL ".join(
        f'SELECT * FROM (SELECT 1 FROM "{model._meta.db_table}" LIMIT 1)' for model in _MODELS
    )


def _read(model: type[Model]) -> _Table:
    """The table as it is."""
    fields = model._meta.concrete_fields
    names = [f'"{field.column}"' for field in fields]
    with connection.cursor() as cursor:
        # Of a sum SQLite knows no type, by which Python would convert it.
        columns = ", ".join(f"+{name}" for name in names)
        cursor.execute(f'SELECT {columns} FROM "{model._meta.db_table}" ORDER BY 1')
        rows = [list(row) for row in cursor.fetchall()]
    into = f'INSERT INTO "{model._meta.db_table}" ({", ".join(names)})'
    insert = f"{into} VALUES ({', '.join(['%s'] * len(names))})"
    is_time = [getattr(field, "auto_now_add", False) for field in fields]
    inventory = next((at for at, one in enumerate(fields) if one.name == "inventory"), None)
    return _Table(insert, rows, list(compress(range(len(fields)), is_time)), inventory)


def _store_again(kept: _Kept) -> None:
    later = timezone.now() - kept.at
    with transaction.atomic(), connection.cursor() as cursor:
        for table in kept.tables:
            cursor.executemany(table.insert, _newer(table, later))


def _newer(table: _Table, by: timedelta) -> Sequence[Sequence[Any]]:
    """Its rows as if they had been made now, with what a host said of itself just now."""
    if not table.times and table.inventory is None:
        return table.rows
    found = [list(row) for row in table.rows]
    for row in found:
        for at in table.times:
            row[at] = str(datetime.fromisoformat(row[at]) + by)
        if table.inventory is not None:
            row[table.inventory] = json.dumps(made_up_host().as_json())
    return found
