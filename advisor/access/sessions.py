"""The sessions of browsers, in the database."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from benchmarks.ready_query import ANY, ReadyObjects


class SessionStore(db.SessionStore):
    """Django's own; it also takes what a cookie says for no session if it cannot be one.

    A cookie may hold any character, and PostgreSQL takes no NUL, not even to look for it.
    """

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key if session_key and session_key.isalnum() else None)

    def load(self) -> dict[str, Any]:
        """What each request of a browser asks for."""
        stored = _stored().first(self.session_key) if self.session_key else None
        if stored is None or stored.expire_date <= timezone.now():
            self._session_key = None
            return {}
        return dict(self.decode(stored.session_data))


@cache
def _stored() -> ReadyObjects[Session]:
    return ReadyObjects(Session.objects.filter(pk=str(ANY)))
