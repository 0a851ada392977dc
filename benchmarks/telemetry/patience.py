"""How long telemetry waits for a server that does not answer."""

from __future__ import annotations


def patience(seconds: int) -> dict[str, int]:
    """pymysql's arguments for a connection whose every step may take so long."""
    return {"connect_timeout": seconds, "read_timeout": seconds, "write_timeout": seconds}
