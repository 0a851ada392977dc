"""Translates one knob to another server: kept, renamed, moved into range or dropped."""

from __future__ import annotations

import re

from tuning.catalogue.facts import reached
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import (
    ANY_VERSION,
    FLAVOUR_NAMES,
    RELEASES,
    Origin,
    ServerTraits,
    Version,
    releases,
)
from tuning.configs.effective.variables import FLUSH_METHOD
from tuning.configs.notes import Action, Change
from tuning.configs.values import (
    MAX_SIZES,
    BadValue,
    fixed_default,
    normalise,
    readable,
    server_number,
    usable,
)

# Pairs of names with one meaning; a successor in the catalogue may mean something else.
_RENAMED = {
    "innodb_kill_idle_transaction": "kill_idle_transaction",
    "binlog_group_commit_sync_no_delay_count": "binlog_commit_wait_count",
    "binlog_commit_wait_count": "binlog_group_commit_sync_no_delay_count",
    "binlog_group_commit_sync_delay": "binlog_commit_wait_usec",
    "binlog_commit_wait_usec": "binlog_group_commit_sync_delay",
}
_RENAMED_BUT = {
    "binlog_commit_wait_usec": "; MariaDB waits only while binlog_commit_wait_count is above 0",
}
_TRX_COMMIT = "innodb_flush_log_at_trx_commit"
_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def carry_over(knob: Knob, text: str | None, origin: Origin, target: ServerTraits) -> Change:
    """Return what becomes of one knob; raises BadValue if no server accepts the value."""
    if knob.name == FLUSH_METHOD and text == "":
        # Empty was buffered I/O in 5.7; leaving it out would give O_DIRECT on newer servers.
        detail = (
            "was left empty, which meant buffered I/O with fsync; now written because the "
            "default has changed since"
        )
        return Change(Action.ADJUSTED, ((knob.name, "fsync"),), detail)
    if not knob.exists_in(target):
        _check_where_it_was(knob, text, origin)
        return _absent(knob, text, origin, target)
    if reached(target.version, knob.facts(target).ignored):
        return Change(Action.DROPPED, (), f"{target} accepts it, but without effect")
    if knob.kind in (Kind.INT, Kind.BYTES) and text:
        figure = _figure(text)
        if figure is not None and not knob.values(target):
            return _in_range(knob, text, figure, target)
        text = text if figure is None else f"{figure}"
    try:
        return Change(Action.KEPT, ((knob.name, normalise(knob, text, target)),))
    except BadValue as bad:
        if knob.kind is Kind.FLOAT and text and _PLAIN_NUMBER.fullmatch(text):
            return _in_range(knob, text, float(text), target)
        if not _was_known(knob, text, origin):
            raise
        default = fixed_default(knob, target)
        at = f" ({default})" if default is not None else ""
        return Change(Action.DROPPED, (), f"{bad}; the server's default{at} applies")


def _absent(knob: Knob, text: str | None, origin: Origin, target: ServerTraits) -> Change:
    why = why_absent(knob, target)
    if knob.name == "innodb_checksums" and text is not None:
        if text.lower() not in ("off", "0", "false"):
            return Change(Action.DROPPED, (), f"{why}, which has checksums by default")
        algorithm = load_catalogue().knobs["innodb_checksum_algorithm"]
        none = carry_over(algorithm, "none", ANY_VERSION, target)
        return _renamed(none, f"{why} = none")
    successor = load_catalogue().get(_RENAMED.get(knob.name, ""))
    if successor is None or not successor.exists_in(target) or text is None:
        return Change(Action.DROPPED, (), why)
    moved = carry_over(successor, text, origin, target)
    if not moved.became:
        return moved
    [(name, value)] = moved.became
    detail = f"is called {name} on this server ({value}){_RENAMED_BUT.get(name, '')}"
    return _renamed(moved, detail)


def _renamed(change: Change, detail: str) -> Change:
    """Return the change as a new name; what is dropped stays dropped."""
    return Change(Action.RENAMED, change.became, detail) if change.became else change


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


def _check_where_it_was(knob: Knob, text: str | None, origin: Origin) -> None:
    """Raise BadValue for a value that no server accepts, even if the target lacks the knob.

    If it were dropped silently, it would seem to be valid. Numbers out of range are accepted,
    because servers move them into the range.
    """
    if knob.kind is Kind.FLAG or (knob.kind in (Kind.INT, Kind.BYTES) and text is not None):
        if knob.kind is Kind.FLAG or _figure(text or "") is not None:
            return
    elif knob.kind is Kind.FLOAT and text and _PLAIN_NUMBER.fullmatch(text):
        return
    had = [traits for traits in (*releases(origin), *RELEASES) if knob.exists_in(traits)]
    reason: BadValue | None = None
    for traits in had:
        words = knob.values(traits)
        if text and text.isascii() and text.isdigit() and len(text) < 4 and int(text) < len(words):
            return  # the index of a word in the list
        try:
            normalise(knob, text, traits)
        except BadValue as bad:
            reason = reason or bad
        else:
            return
    if reason is not None:
        raise reason


def _in_range(knob: Knob, text: str, value: float, target: ServerTraits) -> Change:
    limits = knob.limits(target)
    plain = f"{value:.6f}".rstrip("0").rstrip(".") if knob.kind is Kind.FLOAT else f"{value}"
    if limits is None or limits.low <= value <= limits.high:
        return Change(Action.KEPT, ((knob.name, plain),))
    if knob.name == _TRX_COMMIT and value == 3:
        # MariaDB's 3 is as durable as 1; elsewhere the server would make it 2, which is not.
        detail = "3 is as durable as 1 on MariaDB, but other servers would change it to 2"
        return Change(Action.ADJUSTED, ((knob.name, "1"),), detail)
    nearest = limits.low if value < limits.low else limits.high
    new = f"{nearest:g}" if knob.kind is Kind.FLOAT else f"{int(nearest)}"
    detail = (
        f"{text} is outside {readable(limits.low)} to {readable(limits.high)}, "
        f"so servers change it to {new}"
    )
    return Change(Action.ADJUSTED, ((knob.name, new),), detail)


def _was_known(knob: Knob, text: str | None, origin: Origin) -> bool:
    """Whether a server that the setting may come from accepts the value."""
    known = (traits for traits in releases(origin) if knob.exists_in(traits))
    return any(usable(knob, text, traits) is not None for traits in known)


def _figure(text: str) -> int | None:
    try:
        figure = server_number(text)
    except ValueError:
        return None
    return figure if figure <= MAX_SIZES else None
