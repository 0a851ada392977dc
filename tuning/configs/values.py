"""Values of knobs: from the text in a my.cnf to the form that the server shows, and back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from benchmarks.servers.options import option_line
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits

#: From 2^63 on servers refuse, wrap or clamp, depending on the variable.
MAX_SIZES = 2**63 - 1
_MAX_SHOWN = 60
_SUFFIXES = "KMGTPE"
# Seen on MySQL 9.7.4 and MariaDB 10.11.19: servers read one suffix and nothing after it.
_WHOLE = re.compile(r"([0-9]{1,20})(?:([KMGTPE]).*)?", re.IGNORECASE | re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,10}(\.[0-9]{1,10})?")
#: The spellings of a switch that servers know.
SWITCHES = {"on": "ON", "true": "ON", "1": "ON", "off": "OFF", "false": "OFF", "0": "OFF"}


class BadValue(ValueError):
    """The value cannot be used; the message is a reason that follows the knob's name."""


def normalise(knob: Knob, text: str | None, target: ServerTraits) -> str:
    """Return the value as SHOW VARIABLES prints it on the target; raises BadValue.

    `text` is the part after the `=`, None for a bare option. The knob must exist in the target.
    """
    words = knob.values(target)
    is_switch = knob.kind is Kind.BOOL or {"ON", "OFF"} <= set(words)
    if not text:
        if text is None and is_switch:
            return "ON"
        raise BadValue("needs a value" if text is None else "has an empty value")
    if knob.kind in (Kind.INT, Kind.BYTES, Kind.FLOAT):
        value = decimal_number(text) if knob.kind is Kind.FLOAT else whole_number(text)
        _check_limits(knob, value, target)
        plain = number_text(knob, value)
        if words and plain not in words:
            raise BadValue(f"must be one of {', '.join(words)}, not {shown(text)}")
        return plain
    if is_switch and text.lower() in SWITCHES:
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


def whole_number(text: str) -> int:
    """Read a whole number as option files have it, with K, M, G or T; raises BadValue."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        if re.fullmatch(r"-[0-9.]+[A-Za-z]*", text):
            raise BadValue(f"must not be negative: {shown(text)}")
        if text.isascii() and text.isdigit():
            raise BadValue(f"is too large a number: {shown(text)} is not below 2^63")
        raise BadValue(
            "must be a whole number, optionally with suffix K, M, G or T and without a blank, "
            f"not {shown(text)}"
        )
    power = _SUFFIXES.index(match[2].upper()) + 1 if match[2] else 0
    value = int(match[1]) << (10 * power)
    if value > MAX_SIZES:
        raise BadValue(f"is too large a number: {shown(text)} is not below 2^63")
    return value


def decimal_number(text: str) -> float:
    """Read a plain number such as 75 or 7.5; raises BadValue."""
    if not _DECIMAL.fullmatch(text):
        raise BadValue(f"must be a plain number such as 75 or 7.5, not {shown(text)}")
    return float(text)


def number_text(knob: Knob, value: float) -> str:
    """A number as the server shows it."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if knob.kind is Kind.FLOAT else f"{value}"


def _check_limits(knob: Knob, value: float, target: ServerTraits) -> None:
    limits = knob.limits(target)
    if limits is None or limits.low <= value <= limits.high:
        return
    nearest = limits.low if value < limits.low else limits.high
    # The server would clamp the value and only warn; a config must mean what it says.
    raise BadValue(
        f"must be {readable(limits.low)} to {readable(limits.high)} on {target}, not "
        f"{readable(value)}; the server would silently use {readable(nearest)}"
    )


def _word(text: str, words: tuple[str, ...], target: ServerTraits) -> str:
    for word in words:
        if word.lower() == text.lower():
            return word
    if text.isascii() and text.isdigit():
        # Servers accept an index of their list, and silently replace a wrong one by the default.
        raise BadValue(f"must be a name ({', '.join(words)}), not the number {shown(text)}")
    raise BadValue(f"must be one of {', '.join(words)} on {target}, not {shown(text)}")


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
    """A number for people and files: 5242880 as "5M"; MySQL 5.7 knows no suffix above G."""
    number = int(value) if float(value).is_integer() else value
    for suffix, unit in (("G", 1024**3), ("M", 1024**2), ("K", 1024)):
        if number and number % unit == 0 and number // unit < 10240:
            return f"{number // unit}{suffix}"
    return f"{number}"


def readable_value(knob: Knob | None, value: str) -> str:
    """A normalised value for people: bytes with their unit."""
    return readable(int(value)) if knob and knob.kind is Kind.BYTES and value.isdigit() else value


def config_hash(knobs: Mapping[str, str]) -> str:
    """SHA-256 (hex) of normalised knobs: the same values give the same hash in any order."""
    text = json.dumps(sorted(knobs.items()), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def cnf_value(name: str, value: str, target: ServerTraits) -> str:
    """The value for a my.cnf: bytes with a unit, such as 2G, where the target reads the same."""
    knob = load_catalogue().get(name)
    text = readable_value(knob, value)
    return text if knob and usable(knob, text, target) == value else value


def cnf_line(name: str, value: str, target: ServerTraits) -> str:
    """One line of a my.cnf."""
    return option_line(name, cnf_value(name, value, target))


def render_cnf(knobs: Mapping[str, str], target: ServerTraits) -> str:
    """A my.cnf that sets these knobs and nothing else."""
    lines = (f"{cnf_line(name, value, target)}\n" for name, value in knobs.items())
    return "[mysqld]\n" + "".join(lines)
