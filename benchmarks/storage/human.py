"""Sizes as people read them."""

from __future__ import annotations


def human_bytes(count: int) -> str:
    """1536 -> "1.5 KiB": binary units, one decimal."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
