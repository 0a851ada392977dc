"""`Idempotency-Key`: a request that is sent again creates nothing again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Model
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from advisor.api.errors import ApiError
from advisor.api.models import IdempotencyKey
from benchmarks.errors import BenchmarkError
from tuning.errors import TuningError

HEADER = "Idempotency-Key"
#: Of an answer to a request that was answered before.
REPLAYED = "Idempotency-Replayed"
KEY = OpenApiParameter(
    HEADER,
    {"type": "string", "pattern": "^[!-~]{1,255}$"},
    OpenApiParameter.HEADER,
    description="Of your choice. The same request with the same key creates nothing again.",
)

_FORM = re.compile(r"[!-~]{1,255}")


class _Taken(Exception):
    """Another request with the same key came first."""


class IdempotentRequest:
    """A request that creates something: at most once for each key of an account.

    Nothing is remembered of a request that failed: corrected, it may be sent with the same key.
    """

    def __init__(self, request: Request) -> None:
        """Raises ApiError: invalid_idempotency_key."""
        self._user = request.user
        self._key = request.headers.get(HEADER)
        if self._key is not None and not _FORM.fullmatch(self._key):
            raise ApiError(
                400,
                "invalid_idempotency_key",
                f"{HEADER} is 1 to 255 visible ASCII characters without spaces.",
            )
        self._digest = _digest(request) if self._key is not None else ""
        self.is_replayed = False

    def make(self, create: Callable[[Callable[[Model], None]], Model]) -> int:
        """The id of what `create` makes, or of what an earlier request with this key made.

        `create` gets a function to be called with the new row in the transaction that writes it.
        Raises ApiError: idempotency_key_reused; and whatever `create` raises.
        """
        if (made := self._made_before()) is not None:
            return made
        try:
            return int(create(self._keep).pk)
        except (_Taken, TuningError, BenchmarkError):
            # What another request with this key made at the same time can be why this is refused.
            if (made := self._made_before()) is not None:
                return made
            raise

    def make_quickly(self, create: Callable[[], Model]) -> int:
        """The same where `create` takes no time, so that others can wait for its end."""

        def both(keep: Callable[[Model], None]) -> Model:
            with transaction.atomic():
                row = create()
                keep(row)
            return row

        return self.make(both)

    @property
    def headers(self) -> dict[str, str]:
        """To be added to the answer."""
        return {REPLAYED: "true"} if self.is_replayed else {}

    def _made_before(self) -> int | None:
        if self._key is None:
            return None
        row = IdempotencyKey.objects.filter(user=self._user, key=self._key).first()
        if row is None:
            return None
        if row.digest != self._digest:
            raise ApiError(
                422,
                "idempotency_key_reused",
                f"The {HEADER} belongs to another request of this account.",
            )
        self.is_replayed = True
        return row.made

    def _keep(self, row: Model) -> None:
        if self._key is None:
            return
        try:
            with transaction.atomic():
                IdempotencyKey.objects.create(
                    user=self._user, key=self._key, digest=self._digest, made=row.pk
                )
        except IntegrityError as error:
            raise _Taken from error


def _digest(request: Request) -> str:
    body: Any = [request.method, request.path, request.data]
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
