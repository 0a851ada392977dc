"""The sessions of browsers, in the database."""

from __future__ import annotations

from django.contrib.sessions.backends import db


class SessionStore(db.SessionStore):
    """Django's own; a cookie that cannot be a key is no session.

    A cookie may hold a NUL, which PostgreSQL does not even take to look for it.
    """

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key if session_key and session_key.isalnum() else None)
