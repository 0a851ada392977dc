"""The sessions of browsers, in the database."""

from __future__ import annotations

from django.contrib.sessions.backends import db


class SessionStore(db.SessionStore):
    """Django's own; it also takes what a cookie says for no session if it cannot be one.

    A cookie may hold any character, and PostgreSQL takes no NUL, not even to look for it.
    """

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key if session_key and session_key.isalnum() else None)
