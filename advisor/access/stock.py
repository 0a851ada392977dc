"""Django's own parts with other choices: the hash of passwords, and browsers' sessions."""

from __future__ import annotations

from django.contrib.auth import hashers
from django.contrib.sessions.backends import db


class Argon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id as OWASP's password storage cheat sheet has it: 19 MiB, two passes, one thread.

    A hash takes about 30 ms of CPU time, while the host may be measuring. Django's own choices
    take ten times that.
    """

    memory_cost = 19 * 1024
    time_cost = 2
    parallelism = 1


class SessionStore(db.SessionStore):
    """Django's own; a cookie that cannot be a key is no session.

    A cookie may hold a NUL, which PostgreSQL does not even take to look for it.
    """

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key if session_key and session_key.isalnum() else None)
