"""Sizes as people read them."""

from __future__ import annotations

import re

# The space between a number and its unit, where a line must not end.
BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|ms|s|min|h|[kMGT]B|tpmP|transactions/min|IOPS|Mcycles)[.,:;)]*(?: |$))"
)


def human_bytes(count: float) -> str:
    """1536 -> "1.5 kB": decimal units, as those of disks and of rates in MB/s, one decimal."""
    if abs(count) < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if abs(count) < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:,.1f} TB"
