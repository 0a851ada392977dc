"""A request that is sent again with its `Idempotency-Key` creates nothing again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from django.db import IntegrityError
from django.http import HttpRequest
from ninja import Header

from tuning.models import RequestedOnce

#: The key is the client's choice; it is stored with the row as `client_key`.
Key = Annotated[
    str | None,
    Header(None, alias="Idempotency-Key", min_length=1, max_length=64, pattern="^[!-~]*$"),
]
Row = TypeVar("Row", bound=RequestedOnce)


def create_once(
    rows: type[Row],
    request: HttpRequest,
    key: str | None,
    create: Callable[[Callable[[Row], None]], Row],
) -> Row:
    """Return the user's row with this key, made by `create` if there is none yet.

    `create` calls its argument with the new row in the transaction that stores it.
    """
    if key is None:
        return create(lambda _: None)
    mine = rows._default_manager.filter(created_by=request.user, client_key=key)
    if (found := mine.first()) is not None:
        return found

    def keep(row: Row) -> None:
        row.client_key = key
        row.save(update_fields=["client_key"])

    try:
        return create(keep)
    except IntegrityError:
        if (found := mine.first()) is not None:
            return found
        raise
