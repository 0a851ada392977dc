"""Redis: whether it responds, and the private one that is started if none is configured."""

from __future__ import annotations

import shutil

from django.conf import settings
from kombu.exceptions import OperationalError

from advisor.celery import app
from advisor.errors import ProcessFailed


def redis_answers() -> bool:
    """True when the broker of the settings takes a connection within two seconds."""
    try:
        with app.connection_for_write(connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
        return True
    except (OperationalError, OSError):
        return False


def private_redis_command() -> list[str]:
    """A Redis on a Unix socket in a folder of this user only: no port, nothing kept on disk.

    The settings made the folder. Raises ProcessFailed when redis-server is not installed.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise ProcessFailed("no_redis", "redis-server is not installed: run `make setup`")
    return [
        program,
        *("--unixsocket", str(settings.REDIS_SOCKET), "--unixsocketperm", "700"),
        *("--port", "0", "--save", "", "--appendonly", "no"),
        *("--maxmemory-policy", "noeviction", "--dir", str(settings.RUN_DIR)),
        *("--daemonize", "no"),
    ]
