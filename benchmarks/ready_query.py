"""Queries and updates that Django has made once, for what is asked again and again.

To have Django make a query takes several times as long as the database needs to answer it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import CharField, Func, IntegerField, Model, QuerySet, TextChoices
from django.db.models.sql import UpdateQuery

ModelT = TypeVar("ModelT", bound=Model)

#: Stands for what is asked for: a number, such as a study's primary key, or a text; in [ANY] for
#: any of several. The others stand for what is given after it.
ANY: Final = -4711
ANYTHING: Final = tuple(ANY - place for place in range(6))
_PLACES = {one: place for place, number in enumerate(ANYTHING) for one in (number, str(number))}

Given = int | str | Collection[int] | Collection[str] | None


def in_the_text(value: TextChoices | int) -> Func:
    """It as a constant of a query, not as a parameter.

    Of nearly all runs the state is the same. Prepared for any state, PostgreSQL's plan suits none;
    nor does one for any config, of which one is in all studies and most are in one.
    """
    if isinstance(value, int):
        return Func(template=str(value), output_field=IntegerField())
    return Func(template=f"'{value}'", output_field=CharField())


class ReadyQuery(NamedTuple):
    """A query as text. Its rows are what the database's driver makes of them, not Django."""

    text: str
    parameters: tuple[Any, ...]

    @classmethod
    def of(cls, query: QuerySet[Any, Any]) -> ReadyQuery:
        """States and other words of ours are constants of it, as by `in_the_text`."""
        text, parameters = query.query.sql_with_params()
        words = tuple(f"'{one}'" if isinstance(one, Enum) else "%s" for one in parameters)
        others = tuple(one for one in parameters if not isinstance(one, Enum))
        return cls(text.replace("%%", "%%%%") % words, others)

    @classmethod
    def updating(cls, query: QuerySet[Any, Any], **values: Any) -> ReadyQuery:
        """One to `change` these columns of the rows of `query`, which asks no other table."""
        update: UpdateQuery = query.query.chain(UpdateQuery)  # type: ignore[assignment]
        update.add_update_values(values)
        text, parameters = update.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return cls(text, tuple(parameters))

    def change(self, *given: Given) -> int:
        """How many rows it has changed, with these in place of ANY."""
        with connection.cursor() as cursor:
            cursor.execute(*self.asked(given))
            return int(cursor.rowcount)

    def rows(self, *given: Given) -> list[tuple[Any, ...]]:
        """What it finds now, with these in place of ANY."""
        with connection.cursor() as cursor:
            cursor.execute(*self.asked(given))
            return list(cursor.fetchall())

    def asked(self, given: Sequence[Given]) -> tuple[str, list[Any]]:
        """The text and its parameters, with these in place of ANY."""
        parts = [_part(one, given) for one in self.parameters]
        values = [one for part in parts for one in part]
        if all(len(part) == 1 for part in parts):
            return self.text, values
        marks = tuple(", ".join(["%s"] * len(part)) or "NULL" for part in parts)
        return self.text.replace("%%", "%%%%") % marks, values


def _part(one: Any, given: Sequence[Given]) -> Collection[Any]:
    """What is asked for in place of one parameter."""
    place = _PLACES.get(one) if isinstance(one, int | str) else None
    if place is None:
        return (one,)
    there = given[place]
    return there if isinstance(there, Collection) and not isinstance(there, str) else (there,)


class ReadyObjects(Generic[ModelT]):
    """A query whose rows are Django's objects, with the related rows that it selects."""

    def __init__(self, query: QuerySet[ModelT]) -> None:
        self._query = query
        self._compiler = query.query.get_compiler(DEFAULT_DB_ALIAS)
        self._ready = ReadyQuery(*self._compiler.as_sql())
        columns = [column for column, *_ in (self._compiler.select or ())]
        self._converters = self._compiler.get_converters(columns[: self._compiler.col_count])

    def first(self, *given: Given) -> ModelT | None:
        """The first that it finds now, with these in place of ANY."""
        return next(iter(self._found(given)), None)

    def all(self, *given: Given) -> list[ModelT]:
        """All of them, in the same way."""
        return list(self._found(given))

    def _found(self, given: Sequence[Given]) -> QuerySet[ModelT]:
        compiler = copy(self._compiler)
        compiler.connection = connections[DEFAULT_DB_ALIAS]  # each thread has its own
        compiler.as_sql = lambda: self._ready.asked(given)
        compiler.get_converters = lambda _: self._converters  # to look them up takes as long again
        found = self._query.all()
        found.query.get_compiler = lambda **_: compiler  # type: ignore[method-assign]
        return found


def know_related(row: Model, name: str, related: list[Any]) -> None:
    """Have `row.name.all()` give these objects without asking, as after Django's prefetch."""
    found = getattr(row, name).all()
    found._result_cache, found._prefetch_done = related, True
    row.__dict__.setdefault("_prefetched_objects_cache", {})[name] = found


def know_all_related(
    rows: Collection[Model], name: str, related: ReadyObjects[Any], whose: str
) -> None:
    """The same for all these rows, found at once; `whose`: what names the row of each object."""
    found: dict[Any, list[Any]] = {row.pk: [] for row in rows}
    for one in related.all(list(found)) if found else ():
        found[getattr(one, whose)].append(one)
    for row in rows:
        know_related(row, name, found[row.pk])
