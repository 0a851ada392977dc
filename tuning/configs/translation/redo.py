"""The redo log across versions: the total size in bytes stays the same, the names change."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import Origin, ServerTraits
from tuning.configs.effective.variables import (
    CAPACITY,
    FILES,
    REDO,
    SIZE,
    USUAL_FILES,
    has_capacity,
    redo_settings,
)
from tuning.configs.notes import Action, Change
from tuning.configs.values import MAX_SIZES, readable, server_number

_OLD_SIZE = 48 * 1024**2


def translate_redo(
    values: Mapping[str, str | None],
    origin: Origin,
    target: ServerTraits,
) -> dict[str, Change]:
    """Return the changes of the set names in REDO; {} if they mean the same on the target.

    A value that is no number is left to the caller.
    """
    try:
        given = {name: server_number(values[name] or "") for name in REDO if name in values}
    except ValueError:
        return {}
    if not given or any(figure > MAX_SIZES for figure in given.values()):
        return {}
    if CAPACITY in given:
        return _from_capacity(given, target)
    is_known = isinstance(origin, ServerTraits)
    if isinstance(origin, ServerTraits):
        one_file = origin.mariadb
    else:
        one_file = target.mariadb and FILES not in given
    size, files = given.get(SIZE, _OLD_SIZE), 1 if one_file else given.get(FILES, USUAL_FILES)
    if not one_file and not target.mariadb and not has_capacity(target):
        return {}
    if one_file and target.mariadb:
        return _one_file_as_before(given, size, target, is_known=is_known)
    was = f"one file of {readable(size)}" if one_file else _files(given, size, files)
    return _become(given, size * files, target, was)


def _files(given: Mapping[str, int], size: int, files: int) -> str:
    usual = "" if FILES in given else " (the old default)"
    return f"{files} files{usual} of {readable(size)}"


def _one_file_as_before(
    given: Mapping[str, int], size: int, target: ServerTraits, *, is_known: bool
) -> dict[str, Change]:
    found = {}
    if FILES in given:
        found[FILES] = Change(Action.DROPPED, (), f"{target} has one redo log file")
    if is_known or SIZE not in given:
        return found
    detail = (
        "read as the whole log of MariaDB; if the file is from MySQL, there were "
        f"{USUAL_FILES} files of this size: write {readable(size * USUAL_FILES)}"
    )
    return {SIZE: _within_limits(Change(Action.KEPT, ((SIZE, f"{size}"),), detail), target)}


def _from_capacity(given: Mapping[str, int], target: ServerTraits) -> dict[str, Change]:
    old = {
        name: Change(Action.DROPPED, (), f"has no effect together with {CAPACITY}")
        for name in (SIZE, FILES)
        if name in given
    }
    if has_capacity(target):
        return old
    total = given[CAPACITY]
    was = "" if target.mariadb else f"{readable(total)}"
    return old | _become({CAPACITY: total}, total, target, was)


def _become(
    given: Mapping[str, int], total: int, target: ServerTraits, was: str
) -> dict[str, Change]:
    """Return the change of the first name to the target's names; the others are counted in it."""
    settings = redo_settings(total, target)
    text = ", ".join(f"{name} = {readable(int(value))}" for name, value in settings.items())
    first, *rest = given
    action = Action.ADJUSTED if first in settings else Action.RENAMED
    detail = f"is {text} on this server"
    if was:
        detail = f"{was} {'become' if 'files' in was else 'becomes'} {text}"
    change = Change(action, tuple(settings.items()), detail)
    counted = {name: Change(Action.RENAMED, (), f"counted in {text}") for name in rest}
    return {first: _within_limits(change, target), **counted}


def _within_limits(change: Change, target: ServerTraits) -> Change:
    """Return the change with sizes that the target accepts."""
    became, detail = [], change.detail
    for name, value in change.became:
        limits = load_catalogue().knobs[name].limits(target)
        high = MAX_SIZES if limits is None else min(int(limits.high), MAX_SIZES)
        low = 0 if limits is None else int(limits.low)
        if not low <= int(value) <= high:
            value = f"{low if int(value) < low else high}"
            detail += f", changed to {readable(int(value))}, the nearest that {target} accepts"
        became.append((name, value))
    return Change(change.action, tuple(became), detail)
