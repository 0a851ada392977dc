"""The redo log across versions: size and number of files, one file, or one capacity.

MySQL has `innodb_log_file_size` x `innodb_log_files_in_group` until 8.0.30 and
`innodb_redo_log_capacity` from then on; MariaDB has had one file of `innodb_log_file_size` since
10.5. The total size in bytes stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.variables import CAPACITY, FILES, REDO, SIZE, has_capacity
from tuning.configs.notes import Action
from tuning.configs.translation.origin import Origin
from tuning.configs.translation.outcome import SettingOutcome
from tuning.configs.values import MAX_SIZES, readable

_OLD_FILES = 2
_OLD_SIZE = 48 * 1024**2


def translate_redo(
    values: Mapping[str, str | None],
    origin: Origin,
    target: ServerTraits,
    number: Callable[[str], int],
) -> dict[str, SettingOutcome]:
    """The results of the set names in REDO; {} if they mean the same on the target.

    `number` reads a figure and raises ValueError; what it cannot read is left to the caller.
    """
    found = _translate(values, origin, target, number)
    return {name: _within_limits(outcome, target) for name, outcome in found.items()}


def _translate(
    values: Mapping[str, str | None],
    origin: Origin,
    target: ServerTraits,
    number: Callable[[str], int],
) -> dict[str, SettingOutcome]:
    try:
        given = {name: number(values[name] or "") for name in REDO if name in values}
    except ValueError:
        return {}
    if any(figure > MAX_SIZES for figure in given.values()):
        return {}
    if CAPACITY in given:
        return _from_capacity(given, target)
    if not given:
        return {}
    one_file = _has_one_file(given, origin, target)
    size = given.get(SIZE, _OLD_SIZE)
    files = 1 if one_file else given.get(FILES, _OLD_FILES)
    if has_capacity(target):
        return _to_capacity(given, size, files)
    if target.mariadb:
        return _to_one_file(
            given,
            size,
            files,
            target,
            one_file,
            None if isinstance(origin, ServerTraits) else origin,
        )
    if one_file:
        half = size // _OLD_FILES
        detail = f"one file of {readable(size)} becomes {_OLD_FILES} of {readable(half)}"
        return {SIZE: SettingOutcome(Action.ADJUSTED, ((SIZE, f"{half}"),), detail)}
    return {}


def _within_limits(outcome: SettingOutcome, target: ServerTraits) -> SettingOutcome:
    """Return the result with sizes that the target accepts."""
    became, detail = [], outcome.detail
    for name, value in outcome.became:
        limits = load_catalogue().knobs[name].limits(target)
        high = MAX_SIZES if limits is None else min(int(limits.high), MAX_SIZES)
        low = 0 if limits is None else int(limits.low)
        if not low <= int(value) <= high:
            value = f"{low if int(value) < low else high}"
            detail += f", changed to {readable(int(value))}, the nearest that {target} accepts"
        became.append((name, value))
    return replace(outcome, became=tuple(became), detail=detail)


def _has_one_file(given: Mapping[str, int], origin: Origin, target: ServerTraits) -> bool:
    """Whether the size was that of the whole log, as in MariaDB since 10.5."""
    if isinstance(origin, ServerTraits):
        return origin.mariadb
    return target.mariadb and FILES not in given


def _from_capacity(given: Mapping[str, int], target: ServerTraits) -> dict[str, SettingOutcome]:
    found = {
        name: SettingOutcome.dropped(f"has no effect together with {CAPACITY}")
        for name in (SIZE, FILES)
        if name in given
    }
    total = given[CAPACITY]
    if target.mariadb:
        detail = f"{CAPACITY} is called {SIZE} on this server"
        found[CAPACITY] = SettingOutcome(Action.RENAMED, ((SIZE, f"{total}"),), detail)
    elif not has_capacity(target):
        half = total // _OLD_FILES
        became = ((SIZE, f"{half}"), (FILES, f"{_OLD_FILES}"))
        detail = f"{readable(total)} become {_OLD_FILES} files of {readable(half)}"
        found[CAPACITY] = SettingOutcome(Action.RENAMED, became, detail)
    return found


def _to_capacity(given: Mapping[str, int], size: int, files: int) -> dict[str, SettingOutcome]:
    total = size * files
    text = f"{CAPACITY} = {readable(total)}"
    what = f"{_said(given, files)} of {readable(size)} become" if files > 1 else "is now called"
    first, *rest = [name for name in (SIZE, FILES) if name in given]
    found = {first: SettingOutcome(Action.RENAMED, ((CAPACITY, f"{total}"),), f"{what} {text}")}
    found |= {name: SettingOutcome(Action.RENAMED, (), f"counted in {text}") for name in rest}
    return found


def _to_one_file(
    given: Mapping[str, int],
    size: int,
    files: int,
    target: ServerTraits,
    one_file: bool,
    origin: Origin | None = None,
) -> dict[str, SettingOutcome]:
    found: dict[str, SettingOutcome] = {}
    if origin is not None and SIZE in given and one_file:
        detail = (
            f"read as the whole log of MariaDB; if the file is from MySQL, there were "
            f"{_OLD_FILES} files of this size: write {readable(size * _OLD_FILES)}"
        )
        return {SIZE: SettingOutcome(Action.KEPT, ((SIZE, f"{size}"),), detail)}
    total = size * files
    detail = f"{_said(given, files)} of {readable(size)} become one of {readable(total)}"
    if SIZE in given and not one_file and files > 1:
        found[SIZE] = SettingOutcome(Action.ADJUSTED, ((SIZE, f"{total}"),), detail)
    if FILES in given and SIZE in given:
        found[FILES] = SettingOutcome.dropped(f"{target} has one redo log file")
    elif FILES in given:
        found[FILES] = SettingOutcome(Action.RENAMED, ((SIZE, f"{total}"),), detail)
    return found


def _said(given: Mapping[str, int], files: int) -> str:
    return f"{files} files" if FILES in given else f"{files} files (the old default)"
