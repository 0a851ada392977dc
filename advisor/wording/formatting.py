"""Numbers and names as people read them: pure functions.

Absent values are an en dash, never a zero: a failed run has no result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from benchmarks.storage.human import BEFORE_UNIT, human_bytes

ABSENT = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
NARROW = "\N{NO-BREAK SPACE}"
MAX_RATIO = 10.0
_NEGATIVE = re.compile(r"(?<=[ (])-(?=[0-9.,]+(?: to -?[0-9.,]+)? %)")


def decimals(value: float | None, places: int = 1) -> str:
    """`value` with thousands separators: 12345.678 -> 12,345.7; None -> a dash."""
    if value is None:
        return ABSENT
    return f"{value:,.{places}f}".replace("-", MINUS)


def significant(value: float | None) -> str:
    """About three significant digits: 12345.6 -> 12,346; 12.34 -> 12.3; 0.123 -> 0.12."""
    if value is None:
        return ABSENT
    size = abs(value)
    places = ",.0f" if size >= 100 else ",.1f" if size >= 10 else ",.2f"
    return format(value, places).replace("-", MINUS)


def percent_change(ratio: float | None) -> str:
    """A ratio to the baseline as a signed change: 1.123 -> +12.3 %."""
    if ratio is None:
        return ABSENT
    change = round((ratio - 1) * 100, 1)
    sign = "+" if change > 0 else MINUS if change < 0 else "±"
    return f"{sign}{abs(change):,.1f}{NARROW}%"


def confidence_text(confidence: float | None) -> str:
    """The confidence of an interval: 0.96 -> 96 %."""
    return ABSENT if confidence is None else f"{confidence * 100:.3g}{NARROW}%"


def change_range(low: float, high: float) -> str:
    """Bounds of a ratio as signed changes: 1.121, 1.354 -> +12.1 to +35.4 %."""
    if low > MAX_RATIO:
        return f"{_bound(low)}{NARROW}%"
    return f"{_bound(low)} to {_bound(high)}{NARROW}%"


def _bound(ratio: float) -> str:
    # A bound from two blocks can be that large: its digits mean nothing.
    if ratio > MAX_RATIO:
        return f">{MAX_RATIO * 100 - 100:,.0f}"
    change = round((ratio - 1) * 100, 1)
    sign = "+" if change > 0 else MINUS if change < 0 else "±"
    return f"{sign}{abs(change):.1f}"


def share(value: float | None) -> str:
    """A share as percent, without a sign: 0.042 -> 4.2 %."""
    if value is None:
        return ABSENT
    if value >= MAX_RATIO:
        return f">{MAX_RATIO * 100:,.0f}{NARROW}%"
    return f"{decimals(value * 100)}{NARROW}%"


def megacycles(cycles: float | None) -> str:
    """Cycles as millions of cycles, without the unit: 12345678 -> 12.3."""
    return ABSENT if cycles is None else significant(cycles / 1e6)


def kilobytes(size: float | None) -> str:
    """Bytes as kB, without the unit: 41300 -> 41.3."""
    return ABSENT if size is None else significant(size / 1e3)


def gigahertz(hertz: float | None) -> str:
    """A clock rate without the unit: 2450000000 -> 2.45."""
    return decimals(None if hertz is None else hertz / 1e9, 2)


def duration(seconds: float | None) -> str:
    """Seconds in words: 45 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None:
        return ABSENT
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NARROW}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}{NARROW}min" + (f" {rest}{NARROW}s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{NARROW}h" + (f" {minutes}{NARROW}min" if minutes else "")


def rough_duration(seconds: float | None) -> str:
    """Like `duration`, rounded for estimates: tens of seconds, then whole minutes."""
    if seconds is None:
        return ABSENT
    return duration(max(10, round(seconds, -1)) if seconds < 120 else round(seconds / 60) * 60)


def byte_size(size: float | None) -> str:
    """Bytes with a decimal unit: 12345 -> 12.3 kB."""
    if size is None:
        return ABSENT
    return human_bytes(size).replace(" ", NARROW).replace("-", MINUS)


def unbroken(text: str) -> str:
    """Return the text with units kept beside numbers, and with typographic minus signs."""
    return BEFORE_UNIT.sub(NARROW, _NEGATIVE.sub(MINUS, f"{text}"))


def shortened(text: object, most: int) -> str:
    """Return at most so many characters. The end is kept: long names often differ there."""
    whole, end = str(text), most * 45 // 100
    return whole if len(whole) <= most else f"{whole[: most - 1 - end]}…{whole[-end:]}"


def kept_apart(names: Sequence[str], most: int) -> list[str]:
    """All `shortened`; where both ends are alike, with what only one of them has."""
    cut = [shortened(name, most) for name in names]
    if len(set(cut)) == len(set(names)):
        return cut
    columns = zip(*(name for name in names if len(name) > most), strict=False)
    begin = max(sum(1 for _ in takewhile(lambda one: len(set(one)) == 1, columns)) - 4, 0)
    end = begin + most - 2
    return [
        name if len(name) <= most else f"…{name[begin:end]}{'…' * (len(name) > end)}"
        for name in names
    ]


def few_names(names: Sequence[str], most: int) -> str:
    """Return "a, b and 7 others" for more than `most` + 1 names, else all names."""
    more = len(names) - most
    return names_text(names) if more <= 1 else f"{', '.join(names[:most])} and {more} others"


def names_text(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
