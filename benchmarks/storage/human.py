"""Sizes as people read them."""

from __future__ import annotations


def human_bytes(count: float) -> str:
    """1536 -> "1.5 kB": decimal units, as those of disks and of rates in MB/s, one decimal."""
    if abs(count) < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if abs(count) < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:,.1f} TB"
