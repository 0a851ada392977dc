"""Carries settings from one server to another, in one way for presets and for users' files.

The result means, as far as the server can do it, what the settings meant where they were written;
nothing is changed or left out without a word. It passes the gate (`tuning.configs.gate.check`)
afterwards like any other config.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Durability, Kind, Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.catalogue.timeline import reached
from tuning.configs.files.absence import why_absent
from tuning.configs.files.refusals import refusal
from tuning.configs.gate.expected import Expected
from tuning.configs.gate.safety import leaves_out_fsync, loss
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import Preset
from tuning.configs.translation.redo import translate_redo
from tuning.configs.translation.settled import ANY_VERSION, RELEASES, Origin, Settled, releases
from tuning.configs.values import BadValue, normalise, paper_number, readable

# The same thing under another name; a successor in the catalogue may mean something else.
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
_FLUSH_METHOD = "innodb_flush_method"
_GTID, _GTID_CHECK = "gtid_mode", "enforce_gtid_consistency"
_TRX_COMMIT = "innodb_flush_log_at_trx_commit"
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Translation:
    """Normalised knobs for the target and one note per knob that is not simply kept."""

    knobs: dict[str, str]
    notes: tuple[Note, ...]


def translate(
    preset: Preset, target: ServerTraits, *, durability: Durability = Durability.D0
) -> Translation:
    """Translate a preset; what a study of that durability may not have is held at the default."""
    return translate_knobs(
        preset.knobs, preset.written_for or ANY_VERSION, target, durability=durability
    )


def translate_knobs(
    knobs: Mapping[str, str],
    origin: Origin,
    target: ServerTraits,
    *,
    durability: Durability = Durability.D0,
) -> Translation:
    """Translate knobs in any spelling, "" for one that the source left empty.

    Never refuses: what the target or a study of that durability cannot have is held at the
    server's default, with a note.
    """
    redo = translate_redo(knobs, origin, target, paper_number)
    found: dict[str, str] = {}
    notes: list[Note] = []
    for name, text in knobs.items():
        settled = redo.get(name) or _published(name, text, origin, target, durability)
        for new, value in settled.became:
            if new == name or new not in knobs:  # what is set itself counts
                found[new] = value
        if settled.action is not Action.KEPT:
            notes.append(Note(name, settled.action, settled.detail))
    if durability < Durability.D2 and leaves_out_fsync(found, target):
        found[_FLUSH_METHOD] = "O_DIRECT"
        notes = [note for note in notes if note.name != _FLUSH_METHOD]
        detail = (
            f"O_DIRECT is written out: {target} would choose O_DIRECT_NO_FSYNC beside "
            f"innodb_dedicated_server (class D2), and this study is {durability}"
        )
        notes.append(Note(_FLUSH_METHOD, Action.ADJUSTED, detail))
    expected = Expected(found, target)
    if (
        _GTID not in found
        and expected.text(_GTID) == "ON"
        and found.get(_GTID_CHECK, "ON") != "ON"
    ):
        detail = f"at the server's default: {found.pop(_GTID_CHECK)} does not go with {_GTID} = ON"
        notes = [note for note in notes if note.name != _GTID_CHECK]
        notes.append(Note(_GTID_CHECK, Action.HELD, f"{detail}, the default of {target}"))
    return Translation(found, tuple(notes))


def carry_over(
    knob: Knob,
    text: str | None,
    origin: Origin,
    target: ServerTraits,
    *,
    number: Callable[[str], int] | None = None,
) -> Settled:
    """What becomes of one knob on the target; raises BadValue where the value never was one.

    `number` reads figures (default: as a server does) and raises ValueError.
    """
    if knob.name == "innodb_flush_method" and text == "":
        # Empty was buffered I/O in 5.7; leaving it out would give O_DIRECT on newer servers.
        detail = (
            "left empty there, which meant buffered I/O with fsync; written out, because "
            "the default has changed since"
        )
        return Settled(Action.ADJUSTED, ((knob.name, "fsync"),), detail)
    if not knob.exists_in(target):
        _check_where_it_was(knob, text, origin, number or server_number)
        return _absent(knob, text, origin, target)
    if reached(target.version, knob.facts(target).ignored):
        return Settled.dropped(f"{target} accepts it, but without effect")
    if knob.kind in (Kind.INT, Kind.BYTES) and text:
        figure = _figure(text, number or server_number)
        if figure is not None and not knob.values(target):
            return _in_range(knob, text, figure, target)
        text = text if figure is None else f"{figure}"
    try:
        return Settled.kept(knob.name, normalise(knob, text, target))
    except BadValue as bad:
        if knob.kind is Kind.FLOAT and text and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
            return _in_range(knob, text, float(text), target)
        if not _was_known(knob, text, origin):
            raise
        default = knob.default(target)
        at = f" ({default})" if isinstance(default, str) else ""
        return Settled.dropped(f"{bad}; the server's default{at} holds")


def _published(
    name: str, text: str, origin: Origin, target: ServerTraits, durability: Durability
) -> Settled:
    """One knob of a preset: held where it cannot be had, because nobody can edit a preset."""
    knob = load_catalogue().get(name)
    if knob is None or knob.set_by is SetBy.ADVISOR:
        files = knob is not None or refusal(name) is not None
        return Settled.dropped("the advisor places files" if files else "not in the catalogue")
    if not text and name != "innodb_flush_method":
        return Settled.dropped("left empty there: the server's default")
    lost = loss(knob, text, durability)
    if lost is not None and knob.exists_in(target):
        default = knob.default(target)
        at = f"the server's default ({default})" if isinstance(default, str) else "it"
        return Settled(
            Action.HELD,
            detail=f"at {at}: {text} gives up {lost[1]} (class {lost[0]}), "
            f"and this study is {durability}",
        )
    try:
        settled = carry_over(knob, text, origin, target, number=paper_number)
    except BadValue as bad:
        return Settled(Action.HELD, detail=f"at the server's default: {text} {bad}")
    if settled.action is Action.DROPPED and knob.exists_in(target) and knob.values(target):
        return Settled(Action.HELD, detail=f"at the server's default: {text} {settled.detail}")
    return settled


def _absent(knob: Knob, text: str | None, origin: Origin, target: ServerTraits) -> Settled:
    why = why_absent(knob, target)
    if knob.name == "innodb_checksums" and text is not None:
        if text.lower() not in ("off", "0", "false"):
            return Settled.dropped(f"{why}, which has checksums by default")
        algorithm = load_catalogue().knobs["innodb_checksum_algorithm"]
        none = carry_over(algorithm, "none", ANY_VERSION, target)
        return Settled(Action.RENAMED, none.became, f"{why} = none") if none.became else none
    successor = load_catalogue().get(_RENAMED.get(knob.name, ""))
    if successor is None or not successor.exists_in(target) or text is None:
        return Settled.dropped(why)
    moved = carry_over(successor, text, origin, target)
    if not moved.became:
        return moved
    [(name, value)] = moved.became
    remark = _RENAMED_BUT.get(name, "")
    return Settled(Action.RENAMED, moved.became, f"is called {name} there ({value}){remark}")


def _check_where_it_was(
    knob: Knob, text: str | None, origin: Origin, number: Callable[[str], int]
) -> None:
    """Raise BadValue for what no server takes, though the target has no such knob.

    Left out in silence it would seem to have been fine. Numbers out of the range pass: servers
    bring them into it.
    """
    if knob.kind is Kind.FLAG or (knob.kind in (Kind.INT, Kind.BYTES) and text is not None):
        if knob.kind is Kind.FLAG or _figure(text or "", number) is not None:
            return
    elif knob.kind is Kind.FLOAT and text and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return
    had = [traits for traits in (*releases(origin), *RELEASES) if knob.exists_in(traits)]
    reason: BadValue | None = None
    for traits in had:
        words = knob.values(traits)
        if text and text.isascii() and text.isdigit() and len(text) < 4 and int(text) < len(words):
            return  # the place of a word in the list
        try:
            normalise(knob, text, traits)
        except BadValue as bad:
            reason = reason or bad
        else:
            return
    if reason is not None:
        raise reason


def _in_range(knob: Knob, text: str, value: float, target: ServerTraits) -> Settled:
    limits = knob.limits(target)
    plain = f"{value:.6f}".rstrip("0").rstrip(".") if knob.kind is Kind.FLOAT else f"{value}"
    if limits is None or limits.low <= value <= limits.high:
        return Settled.kept(knob.name, plain)
    if knob.name == _TRX_COMMIT and value == 3:
        # MariaDB's 3 is as durable as 1; elsewhere the server would make it 2, which is not.
        detail = "3 is as durable as 1 there, and other servers would make it 2"
        return Settled(Action.ADJUSTED, ((knob.name, "1"),), detail)
    nearest = limits.low if value < limits.low else limits.high
    new = f"{nearest:g}" if knob.kind is Kind.FLOAT else f"{int(nearest)}"
    detail = (
        f"{text} is outside {readable(limits.low)} to {readable(limits.high)}, "
        f"where servers make it {new}"
    )
    return Settled(Action.ADJUSTED, ((knob.name, new),), detail)


def _was_known(knob: Knob, text: str | None, origin: Origin) -> bool:
    """Whether a server that the setting may come from takes the value."""
    for traits in releases(origin):
        if knob.exists_in(traits):
            try:
                normalise(knob, text, traits)
            except BadValue:
                continue
            return True
    return False


def _figure(text: str, number: Callable[[str], int]) -> int | None:
    try:
        figure = number(text)
    except ValueError:
        return None
    return figure if figure <= _LARGEST else None


def server_number(text: str) -> int:
    """A whole number as option files have it, with K, M, G or T; raises ValueError."""
    if not re.fullmatch(r"[0-9]{1,20}[KMGT]?", text, re.IGNORECASE | re.ASCII):
        raise ValueError(f"not a number of a my.cnf: {text!r}")
    return paper_number(text)
