"""Configs for a profiled server: the one that it runs with, and proposals for it.

Each proposal has the figure that meets its condition. Values are those of the real server. A rule
without its figure proposes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.costs import free_redo_bytes
from tuning.configs.effective.expected import GIB, MIB, Expected, by_itself
from tuning.configs.effective.variables import (
    CAPACITY,
    CHUNK,
    FILES,
    FLUSH_METHOD,
    IO_CAPACITY,
    IO_CEILING,
    MAX_CONNECTIONS,
    POOL,
    SIZE,
    has_capacity,
    redo_settings,
)
from tuning.configs.values import BadValue, normalise, same
from tuning.scale_model.sizes import size_text
from tuning.server_profile.figures import duration_text, figure, rate_text
from tuning.server_profile.profile import Profile

_HOUR = 3600
_POOL_OF_MEMORY = 0.75
_POOL_OF_DATA = 1.1
#: From this share of the redo log on, the server flushes in a hurry (MySQL and MariaDB sources).
_HURRY = 0.7
_MAX_TABLES = 16_384
ALL = "profile-all"


@dataclass(frozen=True)
class Proposal:
    """One change of a server's config. `why`: the figure that met the condition."""

    name: str
    changes: Mapping[str, str]
    why: str


def proposals_for(profile: Profile) -> list[Proposal]:
    """Return the proposals whose conditions the profile meets, and all of them together."""
    rules = (_redo, _pool, _io_capacity, _tables, _log_buffer, _direct_io)
    found = [one for rule in rules for one in rule(profile)]
    if len(found) < 2:
        return found
    changes = {name: value for one in found for name, value in one.changes.items()}
    return [*found, Proposal(ALL, changes, f"all {len(found)} changes together")]


def _redo(profile: Profile) -> Iterator[Proposal]:
    hourly, turn, size = (
        figure(profile, name) for name in ("redo_per_hour", "redo_turn", "redo_size")
    )
    if hourly is None or turn is None or size is None or turn >= _HOUR:
        return
    most = free_redo_bytes()
    wanted = min(max(hourly, GIB), most)
    wanted = int(wanted // (256 * MIB)) * 256 * MIB
    if wanted <= size:
        return
    changes = redo_settings(wanted, profile.target)
    why = (
        f"redo {human_bytes(hourly)}/h: the log of {human_bytes(size)} turns over every "
        f"{duration_text(turn)}"
    )
    if hourly > most:
        why += f"; {human_bytes(most)} is the most before a crash recovers measurably longer"
    yield Proposal("profile-redo", changes, why)


def _pool(profile: Profile) -> Iterator[Proposal]:
    pool, memory, data = profile.number(POOL), profile.memory_bytes, profile.data_bytes
    misses, share = figure(profile, "pool_misses"), figure(profile, "pool_miss_share")
    if pool is None or memory is None or data is None or not misses or share is None:
        return
    wanted = int(min(memory * _POOL_OF_MEMORY, data * _POOL_OF_DATA))
    if misses < 1 or wanted < pool * 1.1:
        return
    unit = GIB if wanted >= 8 * GIB else 128 * MIB
    size = wanted // unit * unit
    if size <= pool:
        return
    why = (
        f"buffer pool misses: {rate_text(misses)} ({percent(share, 1)} of all requests) with "
        f"{size_text(pool)} of pool, {size_text(memory)} of memory and {size_text(data)} of data"
    )
    yield Proposal("profile-pool", {POOL: f"{size}"}, why)


def _io_capacity(profile: Profile) -> Iterator[Proposal]:
    age, size = figure(profile, "checkpoint_age"), figure(profile, "redo_size")
    waits, capacity = figure(profile, "free_waits"), profile.number(IO_CAPACITY)
    if capacity is None or capacity >= 2000:
        return
    reasons = []
    if age is not None and size and age / size >= _HURRY:
        reasons.append(f"the checkpoint is {percent(age / size)} of the redo log behind")
    if waits:
        reasons.append(f"waits for a free page: {rate_text(waits)}")
    if reasons:
        why = f"{' and '.join(reasons)}, with innodb_io_capacity {capacity:.0f}"
        yield Proposal("profile-io", {IO_CAPACITY: "2000", IO_CEILING: "4000"}, why)


def _tables(profile: Profile) -> Iterator[Proposal]:
    misses, cache = figure(profile, "table_misses"), profile.number("table_open_cache")
    if cache is None or misses is None or misses < 1 or cache >= _MAX_TABLES:
        return
    size = int(min(max(4000, 2 * cache), _MAX_TABLES))
    why = f"table cache misses: {rate_text(misses)}, with table_open_cache {cache:.0f}"
    yield Proposal("profile-tables", {"table_open_cache": f"{size}"}, why)


def _log_buffer(profile: Profile) -> Iterator[Proposal]:
    waits, size = figure(profile, "log_waits"), profile.number("innodb_log_buffer_size")
    if size is not None and waits and size < 64 * MIB:
        why = f"waits for the log buffer: {rate_text(waits)}, with a buffer of {human_bytes(size)}"
        yield Proposal("profile-log-buffer", {"innodb_log_buffer_size": f"{64 * MIB}"}, why)


def _direct_io(profile: Profile) -> Iterator[Proposal]:
    pool, memory = profile.number(POOL), profile.memory_bytes
    method = profile.variables.get(FLUSH_METHOD)
    # MySQL 5.7 shows nothing for its default, which is fsync.
    if method in ("fsync", "") and pool is not None and memory is not None and pool > memory / 2:
        why = (
            f"innodb_flush_method is fsync: the page cache holds a second copy of the pool of "
            f"{size_text(pool)} in {size_text(memory)} of memory"
        )
        yield Proposal("profile-direct-io", {FLUSH_METHOD: "O_DIRECT"}, why)


_NO_VALUES = frozenset({Kind.PATH, Kind.STRING, Kind.FLAG})


def own_knobs(profile: Profile) -> dict[str, str]:
    """Return the tuning variables that differ from what the server would have by itself."""
    target = profile.target
    read = {}
    for name, knob in load_catalogue().knobs.items():
        shown = profile.variables.get(knob.variable(target), "")
        if knob.set_by or knob.kind in _NO_VALUES or not shown or not knob.exists_in(target):
            continue
        try:
            read[name] = normalise(knob, shown, target)
        except BadValue:
            continue
    read.pop(CHUNK, None)
    if has_capacity(target):
        read.pop(SIZE, None)
        read.pop(FILES, None)
        if (redo := profile.redo_bytes) is not None:
            read[CAPACITY] = f"{redo}"
    return {name: value for name, value in read.items() if _is_set(name, value, read, profile)}


def as_cnf(knobs: Mapping[str, str]) -> str:
    """Return the knobs as a my.cnf."""
    lines = [name if not value else f"{name} = {value}" for name, value in knobs.items()]
    return "\n".join(["[mysqld]", *lines]) + "\n"


def _is_set(name: str, value: str, read: Mapping[str, str], profile: Profile) -> bool:
    if name == POOL:
        return True  # a default too is resized to the scale model
    others = {other: text for other, text in read.items() if other != name}
    default = by_itself(name, Expected(others, profile.target))
    if default is None:
        # Computed from the host: left to the server that is measured.
        return name == MAX_CONNECTIONS
    return not same(default, value)
