"""Queries that Django has made once, for what is asked again and again.

To have Django make a query takes several times as long as the database needs to answer it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

ModelT = TypeVar("ModelT", bound=Model)

#: Stands for the number that is asked for, such as a study's primary key.
ANY: Final = -4711


class ReadyQuery(NamedTuple):
    """A query as text. Its rows are what the database's driver makes of them, not Django."""

    text: str
    parameters: tuple[Any, ...]

    @classmethod
    def of(cls, query: QuerySet[Any, Any]) -> ReadyQuery:
        text, parameters = query.query.sql_with_params()
        return cls(text, tuple(parameters))

    def rows(self, number: int | None = None) -> list[tuple[Any, ...]]:
        """What it finds now, with this number in place of ANY."""
        with connection.cursor() as cursor:
            cursor.execute(self.text, self._of(number))
            return list(cursor.fetchall())

    def first(self, model: type[ModelT], number: int) -> ModelT | None:
        """The same as an object of Django's, of a query for all or some columns of this model.

        Further columns are its attributes; related rows are not read.
        """
        return next(iter(model._default_manager.raw(self.text, self._of(number))), None)

    def _of(self, number: int | None) -> list[Any]:
        return [number if one == ANY else one for one in self.parameters]
