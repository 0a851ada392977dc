"""Sizes as a user states them: "48G" is 2^30 as in a my.cnf, and so is "48GiB"; "48GB" is 10^9."""

from __future__ import annotations

import re

GB = 10**9
MB = 10**6
MAX_BYTES = 10**18
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGTP])(I?B)?", re.IGNORECASE | re.ASCII)
_POWERS = "KMGTP"


def read_size(text: str) -> int:
    """Return the bytes of "200G", "200 GB" or "1.5TiB". Raises ValueError for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or len(text) > 40:
        raise ValueError(
            "must be a number with its unit, such as 200G as in a my.cnf, or 200GB (10^9 bytes)"
        )
    power = _POWERS.index(found[2].upper()) + 1
    is_decimal = (found[3] or "").upper() == "B"
    unit: int = (1000 if is_decimal else 1024) ** power
    size = round(float(found[1]) * unit)
    if not 0 < size <= MAX_BYTES:
        raise ValueError("must be more than 0 and at most 1000P")
    return size


def size_text(count: float) -> str:
    """ "48 GB", "1.02 GB", "790 MB": decimal units, three figures."""
    for unit, name in ((10**12, "TB"), (GB, "GB"), (MB, "MB")):
        rounded = float(f"{count / unit:.3g}")
        if rounded >= 1:
            return f"{rounded:,.7g} {name}"
    return f"{count:.0f} bytes"
