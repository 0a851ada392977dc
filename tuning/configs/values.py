"""Values of knobs: from the text in a my.cnf to the form that the server shows."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from tuning.catalogue.facts import Limits
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.target import ServerTraits

#: From 2^63 on servers refuse, wrap or clamp, depending on the variable.
MAX_SIZES = 2**63 - 1
_MAX_SHOWN = 60
_SUFFIXES = "KMGTPE"
_NEW_SUFFIXES = "TPE"
# Seen on MySQL 9.7.4 and MariaDB 10.11.19: servers read one suffix and nothing after it.
_WHOLE = re.compile(r"([0-9]+)(?:([KMGTPE]).*)?", re.IGNORECASE | re.ASCII)
_UNIT = re.compile(r"([0-9]+)\s+([KMGTPE])i?B?", re.IGNORECASE | re.ASCII)
_FRACTION = re.compile(r"([0-9]+\.[0-9]+)([KMGTPE])", re.IGNORECASE | re.ASCII)
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
#: The spellings of a switch that servers know.
SWITCHES = {"on": "ON", "true": "ON", "1": "ON", "off": "OFF", "false": "OFF", "0": "OFF"}


class BadValue(ValueError):
    """The value cannot be used; the message is a reason that follows the knob's name."""


def normalise(knob: Knob, text: str | None, target: ServerTraits) -> str:
    """Return the value as SHOW VARIABLES prints it on the target; raises BadValue.

    `text` is the part after the `=`, None for a bare option. The knob must exist in the target.
    """
    words, limits = knob.values(target), knob.limits(target)
    has_switches = {"ON", "OFF"} <= set(words)
    if not text:
        if text is None and (knob.kind is Kind.BOOL or has_switches):
            return "ON"
        default = fixed_default(knob, target)
        example = "" if default is None else f"; the server's default is {default}"
        raise BadValue(f"{'needs a' if text is None else 'has an empty'} value{example}")
    if knob.kind in (Kind.INT, Kind.BYTES, Kind.FLOAT):
        is_float = knob.kind is Kind.FLOAT
        value = _decimal(text) if is_float else _whole(text, target)
        _check_limits(knob, value, limits, target)
        plain = f"{value:.6f}".rstrip("0").rstrip(".") if is_float else f"{value}"
        if words and plain not in words:
            raise BadValue(f"must be one of {', '.join(words)}, not {shown(text)}")
        return plain
    if (knob.kind is Kind.BOOL or has_switches) and text.lower() in SWITCHES:
        return SWITCHES[text.lower()]
    if knob.kind is Kind.BOOL:
        raise BadValue(f"must be ON or OFF, not {shown(text)}")
    if knob.kind is Kind.ENUM:
        return _word(text, words, target)
    if knob.pattern and not re.fullmatch(knob.pattern, text):
        raise BadValue(f"cannot be {shown(text)}")
    return text


def usable(knob: Knob, text: str | None, target: ServerTraits) -> str | None:
    """The normalised value, or None if it is invalid."""
    try:
        return normalise(knob, text, target)
    except BadValue:
        return None


def fixed_default(knob: Knob, target: ServerTraits) -> str | None:
    """The target's default; None if it is unset, does not exist or is computed by the server."""
    default = knob.default(target) if knob.exists_in(target) else None
    return default if isinstance(default, str) else None


def same(one: str, other: str) -> bool:
    """Whether two values mean the same: servers show some whole numbers as 10.000000."""
    return canonical(one) == canonical(other)


def canonical(value: str) -> str:
    """One spelling for values that mean the same."""
    try:
        return str(Decimal(value).normalize())
    except InvalidOperation:
        return value.lower()


def shown(text: str, longest: int = _MAX_SHOWN) -> str:
    """Return a value for a message: quoted, without control characters, not too long."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def printable(text: str, longest: int) -> str:
    """Return a text for a message, quoted if it is too long or has control characters."""
    return text if len(text) <= longest and text.isprintable() else shown(text, longest)


def readable(value: float) -> str:
    """A number of bytes or anything else for a message: 5242880 as "5M"."""
    number = int(value) if float(value).is_integer() else value
    if not isinstance(number, int) or number < 1024:
        return f"{number}"
    for power in range(len(_SUFFIXES), 0, -1):
        unit = 1024**power
        if number % unit == 0 and number // unit < 10240:
            return f"{number // unit}{_SUFFIXES[power - 1]}"
    return f"{number}"


def readable_value(knob: Knob | None, value: str) -> str:
    """A normalised value for people: bytes with their unit."""
    return readable(int(value)) if knob and knob.kind is Kind.BYTES and value.isdigit() else value


def _whole(text: str, target: ServerTraits) -> int:
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise BadValue(_why_not_whole(text))
    suffix = (match[2] or "").upper()
    if suffix and suffix in _NEW_SUFFIXES and not target.mariadb and target.version < (8, 0, 14):
        raise BadValue(f"has the suffix {suffix}, which {target} does not know; use G")
    if len(match[1]) > 20 or (value := _product(match)) > MAX_SIZES:
        raise BadValue(f"is too large a number: {shown(text)} is not below 2^63")
    return value


def _product(number: re.Match[str]) -> int:
    """Return a number times its unit."""
    power = _SUFFIXES.index(number[2].upper()) + 1 if number[2] else 0
    return int(number[1]) << (10 * power)


def _why_not_whole(text: str) -> str:
    if re.fullmatch(r"-\s*[0-9.]+[A-Za-z]*", text):
        return f"must not be negative: {shown(text)}"
    if unit := _UNIT.fullmatch(text):
        plain = f"{unit[1]}{unit[2].upper()}"
        return f"has a blank before its unit: write {plain} instead of {shown(text)}"
    if fraction := _FRACTION.fullmatch(text):
        power = _SUFFIXES.index(fraction[2].upper())
        below = Decimal(fraction[1]) * 1024
        hint = f": write {int(below)}{_SUFFIXES[power - 1]}" if power and below % 1 == 0 else ""
        return f"must be a whole number, not {shown(text)}{hint}"
    return f"must be a whole number, optionally with suffix K, M, G or T, not {shown(text)}"


def _decimal(text: str) -> float:
    if not _DECIMAL.fullmatch(text) or len(text) > 20:
        negative = re.fullmatch(r"-[0-9.]+", text)
        reason = "must not be negative" if negative else "must be a plain number such as 75 or 7.5"
        raise BadValue(f"{reason}: {shown(text)}")
    return float(text)


def _check_limits(knob: Knob, value: float, limits: Limits | None, target: ServerTraits) -> None:
    if limits is None or limits.low <= value <= limits.high:
        return
    nearest = limits.low if value < limits.low else limits.high
    # The server would clamp the value and only warn; a config must mean what it says.
    reason = (
        f"must be {readable(limits.low)} to {readable(limits.high)} on {target}, not "
        f"{readable(value)}; the server would silently use {readable(nearest)}"
    )
    for rule in knob.durability:
        if rule.matches(readable(nearest), {}):
            reason += f" and may lose {rule.loses}"
    raise BadValue(reason)


def _word(text: str, words: tuple[str, ...], target: ServerTraits) -> str:
    for word in words:
        if word.lower() == text.lower():
            return word
    if text.isascii() and text.isdigit():
        # Servers accept an index of their list, and silently replace a wrong one by the default.
        raise BadValue(f"must be a name ({', '.join(words)}), not the number {shown(text)}")
    raise BadValue(f"must be one of {', '.join(words)} on {target}, not {shown(text)}")


def server_number(text: str) -> int:
    """A whole number as in option files, with K, M, G or T; raises ValueError."""
    match = _WHOLE.fullmatch(text)
    if match is None or len(match[1]) > 20:
        raise ValueError(f"not a number of a my.cnf: {text!r}")
    return _product(match)
