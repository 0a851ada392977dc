"""Translates a setting to another server: kept, renamed, moved into range or dropped.

The size of the redo log in bytes stays the same, whatever its variables are called.
"""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.facts import reached
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import FLAVOUR_NAMES, Origin, ServerTraits, Version, releases
from tuning.configs.line import Fate, LineResult
from tuning.configs.values import (
    MAX_SIZES,
    BadValue,
    decimal_number,
    fixed_default,
    normalise,
    number_text,
    readable,
    usable,
    whole_number,
)
from tuning.configs.variables import (
    CAPACITY,
    FILES,
    FLUSH_METHOD,
    REDO,
    SIZE,
    USUAL_FILES,
    has_capacity,
    redo_settings,
)

_TRX_COMMIT = "innodb_flush_log_at_trx_commit"
_OLD_SIZE = 48 * 1024**2


def carry_over(line: LineResult, knob: Knob, origin: Origin, target: ServerTraits) -> LineResult:
    """Return the line with what becomes of its knob on the target.

    Raises BadValue if no server that the line may be from accepts the value.
    """
    text = line.value
    if knob.name == FLUSH_METHOD and text == "":
        # Empty was buffered I/O in 5.7; leaving it out would give O_DIRECT on newer servers.
        reason = (
            "was left empty, which meant buffered I/O with fsync; now written because the "
            "default has changed since"
        )
        return line.ends(Fate.TRANSLATED, reason, ((knob.name, "fsync"),))
    if not knob.exists_in(target):
        return _absent(line, knob, origin, target)
    if reached(target.version, knob.facts(target).ignored):
        return line.ends(Fate.KEPT, f"{target} accepts it, but without effect")
    if text and knob.kind in (Kind.INT, Kind.BYTES, Kind.FLOAT) and not knob.values(target):
        value = decimal_number(text) if knob.kind is Kind.FLOAT else whole_number(text)
        return _in_range(line, knob, value, target)
    try:
        return line.ends(Fate.MEASURED, "", ((knob.name, normalise(knob, text, target)),))
    except BadValue as bad:
        known = (traits for traits in releases(origin) if knob.exists_in(traits))
        if all(usable(knob, text, traits) is None for traits in known):
            raise
        default = fixed_default(knob, target)
        at = f" ({default})" if default is not None else ""
        return line.ends(Fate.KEPT, f"{bad}; the server's default{at} applies")


def _absent(line: LineResult, knob: Knob, origin: Origin, target: ServerTraits) -> LineResult:
    if knob.kind in (Kind.INT, Kind.BYTES) and line.value is not None:
        whole_number(line.value)  # a slip in a size would seem to be valid
    renamed = load_catalogue().get(knob.equals)
    if renamed is None or not renamed.exists_in(target) or line.value is None:
        return line.ends(Fate.REMOVED, why_absent(knob, target))
    moved = carry_over(line, renamed, origin, target)
    if not moved.became:
        return moved
    [(name, value)] = moved.became
    reason = f"is called {name} on this server ({value})"
    return moved.ends(Fate.TRANSLATED, reason, moved.became)


def why_absent(knob: Knob, target: ServerTraits) -> str:
    """Say why the target does not have a catalogued variable, and what replaced it."""
    facts = knob.facts(target)
    successor = load_catalogue().get(facts.successor) if facts.successor else None
    instead = f"; use {successor.name}" if successor and successor.exists_in(target) else ""
    owners = [FLAVOUR_NAMES[flavour] for flavour, other in knob.flavours.items() if other.default]
    history = ""
    if reached(target.version, facts.removed):
        history = f" (removed in {_text(facts.removed[0])})"
    elif facts.default and facts.added:
        history = f" (added in {', '.join(map(_text, facts.added))})"
    elif owners:
        history = f" (only in {' and '.join(owners)})"
    return f"{target} does not have it{history}{instead}"


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _in_range(line: LineResult, knob: Knob, value: float, target: ServerTraits) -> LineResult:
    limits = knob.limits(target)
    if limits is None or limits.low <= value <= limits.high:
        return line.ends(Fate.MEASURED, "", ((knob.name, number_text(knob, value)),))
    if knob.name == _TRX_COMMIT and value == 3:
        # MariaDB's 3 is as durable as 1; elsewhere the server would make it 2, which is not.
        reason = "3 is as durable as 1 on MariaDB, but other servers would change it to 2"
        return line.ends(Fate.TRANSLATED, reason, ((knob.name, "1"),))
    nearest = limits.low if value < limits.low else limits.high
    new = f"{nearest:g}" if knob.kind is Kind.FLOAT else f"{int(nearest)}"
    reason = (
        f"{line.value} is outside {readable(limits.low)} to {readable(limits.high)}, "
        f"so servers change it to {new}"
    )
    return line.ends(Fate.TRANSLATED, reason, ((knob.name, new),))


def translate_redo(
    lines: Mapping[str, LineResult], origin: Origin, target: ServerTraits
) -> dict[str, LineResult]:
    """Return what becomes of the lines that size the redo log, by name, which are read together.

    Lines that mean the same on the target, or whose value is no number, are not among them.
    """
    try:
        given = {name: whole_number(lines[name].value or "") for name in REDO if name in lines}
    except BadValue:
        return {}
    if not given:
        return {}
    if CAPACITY in given:
        idle = f"has no effect together with {CAPACITY}"
        found = {n: lines[n].ends(Fate.REMOVED, idle) for n in (SIZE, FILES) if n in given}
        if not has_capacity(target):
            found[CAPACITY] = _resized(lines[CAPACITY], given[CAPACITY], target)
        return found
    one_file = target.mariadb and FILES not in given
    if isinstance(origin, ServerTraits):
        one_file = origin.mariadb
    if target.mariadb and one_file:
        return _one_file(lines, given, target, is_known=isinstance(origin, ServerTraits))
    if not (one_file or target.mariadb or has_capacity(target)):
        return {}
    files = 1 if one_file else given.get(FILES, USUAL_FILES)
    size = given.get(SIZE, _OLD_SIZE)
    usual = "" if FILES in given or one_file else " (the old default)"
    become = f"{files} files{usual} of {readable(size)} become"
    first, *rest = given
    total = _resized(lines[first], size * files, target, "becomes" if files == 1 else become)
    counted = {name: lines[name].ends(Fate.REMOVED, f"counted in {first}") for name in rest}
    return {first: total, **counted}


def _one_file(
    lines: Mapping[str, LineResult],
    given: Mapping[str, int],
    target: ServerTraits,
    *,
    is_known: bool,
) -> dict[str, LineResult]:
    found = {}
    if FILES in given:
        found[FILES] = lines[FILES].ends(Fate.REMOVED, f"{target} has one redo log file")
    if SIZE in given and not is_known:
        size, line = given[SIZE], lines[SIZE]
        reason = (
            "read as the whole log of MariaDB; if the file is from MySQL, there were "
            f"{USUAL_FILES} files of this size: write {readable(size * USUAL_FILES)}"
        )
        in_range = _in_range(line, load_catalogue().knobs[SIZE], size, target)
        found[SIZE] = (
            in_range if in_range.reason else in_range.ends(Fate.MEASURED, reason, in_range.became)
        )
    return found


def _resized(
    line: LineResult, total: int, target: ServerTraits, becomes: str = "becomes"
) -> LineResult:
    """Return the line as the variables of the target that give a redo log of that size."""
    became, changed = [], ""
    for name, value in redo_settings(total, target).items():
        limits = load_catalogue().knobs[name].limits(target)
        low, high = (0, MAX_SIZES) if limits is None else map(int, limits)
        fitting = min(max(int(value), low), high, MAX_SIZES)
        if fitting != int(value):
            changed = f", the nearest that {target} accepts"
        became.append((name, f"{fitting}"))
    text = ", ".join(f"{name} = {readable(int(value))}" for name, value in became)
    return line.ends(Fate.TRANSLATED, f"{becomes} {text}{changed}", tuple(became))
