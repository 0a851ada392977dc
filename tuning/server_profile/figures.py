"""Figures of a profile: each with its unit, or with the reason why it is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.scale_model.sizes import size_text
from tuning.server_profile.profile import Profile

WRITES = (
    *("Com_insert", "Com_insert_select", "Com_replace", "Com_replace_select"),
    *("Com_update", "Com_update_multi", "Com_delete", "Com_delete_multi"),
)
COMMITS = ("Com_commit", "Com_xa_commit")
_HOUR = 3600
_NOT_TOLD = "the server does not tell"


@dataclass(frozen=True)
class Figure:
    """A figure of a server. `value` None is unknown, and `text` says why.

    unit: "bytes", "per second", "bytes per hour", "share", "count", "seconds" or "ms".
    ever: the mean since the server started, where that is known.
    is_tested: whether TPC-C has a load of this kind; None where the question makes no sense.
    """

    name: str
    title: str
    value: float | None
    unit: str
    text: str
    ever: str = ""
    is_tested: bool | None = None


def figures_of(profile: Profile) -> list[Figure]:
    """Return all figures in the order in which pages show them."""
    return [
        *_sizes(profile),
        *_load(profile),
        *_writes(profile),
        *_memory(profile),
        *_waits(profile),
    ]


def figure(profile: Profile, name: str) -> float | None:
    """Return the value of one figure."""
    return next(one.value for one in figures_of(profile) if one.name == name)


def _sizes(profile: Profile) -> Iterator[Figure]:
    data, memory = profile.data_bytes, profile.memory_bytes
    yield _bytes("data", "Data in InnoDB", data, "the account saw no InnoDB table")
    others = [one for one in profile.sizes if one.engine.lower() != "innodb"]
    if others:
        total = sum(one.data_bytes + one.index_bytes for one in others)
        engines = ", ".join(sorted({one.engine for one in others}))
        yield _bytes("other_data", f"Data in other engines ({engines})", total, "")
    yield _bytes("memory", "Memory of the host", memory, "no server tells it: type it in")
    yield _bytes("pool", "Buffer pool", profile.number("innodb_buffer_pool_size"), _NOT_TOLD)


def _load(profile: Profile) -> Iterator[Figure]:
    second = profile.second
    most = profile.variables.get("max_connections", "?")
    for name, title, counter in (
        ("connected", "Connections in use", "Threads_connected"),
        ("running", "Threads running", "Threads_running"),
    ):
        seen = [one[counter] for one in (profile.first, second) if counter in one]
        yield _count(name, title, max(seen, default=None))
    peak = second.get("Max_used_connections")
    yield _count("peak", f"Connections at peak, of {most} allowed", peak)
    yield _rate(profile, "questions", "Statements", ("Questions",))
    yield _rate(profile, "commits", "COMMIT statements", COMMITS, is_tested=True)
    yield _rate(profile, "writes", "Statements that write", WRITES, is_tested=True)


def _writes(profile: Profile) -> Iterator[Figure]:
    redo = _per_hour(profile, "redo_per_hour", "Redo log written", "Innodb_os_log_written")
    yield redo
    size = profile.redo_bytes
    yield _bytes("redo_size", "Size of the redo log", size, _NOT_TOLD)
    turns = size * _HOUR / redo.value if size and redo.value else None
    text = "unknown" if turns is None else f"every {duration_text(turns)}"
    yield Figure("redo_turn", "The redo log turns over", turns, "seconds", text, is_tested=True)
    yield _binlog(profile)
    age = profile.checkpoint_age
    of_size = f", {percent(age / size)} of the redo log" if age is not None and size else ""
    shown = _NOT_TOLD if age is None else f"{human_bytes(int(age))}{of_size}"
    yield Figure("checkpoint_age", "Checkpoint age", age, "bytes", shown, is_tested=True)


def _binlog(profile: Profile) -> Figure:
    title = "Binary log written"
    if profile.variables.get("log_bin") == "OFF":
        return Figure("binlog_per_hour", title, 0, "bytes per hour", "off", is_tested=True)
    uptime = profile.second.get("Uptime")
    if "Binlog_bytes_written" in profile.second or profile.binlog_bytes is None or not uptime:
        return _per_hour(profile, "binlog_per_hour", title, "Binlog_bytes_written")
    rate = profile.binlog_bytes * _HOUR / uptime
    text = f"{human_bytes(int(rate))}/h on average since the server started"
    return Figure("binlog_per_hour", title, rate, "bytes per hour", text, is_tested=True)


def _memory(profile: Profile) -> Iterator[Figure]:
    yield _rate(
        profile, "pool_misses", "Buffer pool misses", ("Innodb_buffer_pool_reads",), is_tested=True
    )
    misses, asked = (
        profile.grown(f"Innodb_buffer_pool_{one}") for one in ("reads", "read_requests")
    )
    yield _share("pool_miss_share", "Page requests that missed the pool", misses, asked, True)
    dirty, total = (
        profile.second.get(f"Innodb_buffer_pool_pages_{one}") for one in ("dirty", "total")
    )
    yield _share("dirty", "Dirty pages in the pool", dirty, total, True)
    yield _rate(
        profile,
        "tmp_disk",
        "Temporary tables on disk",
        ("Created_tmp_disk_tables",),
        is_tested=False,
    )
    on_disk, made = profile.grown("Created_tmp_disk_tables"), profile.grown("Created_tmp_tables")
    yield _share("tmp_disk_share", "Temporary tables that went to disk", on_disk, made, False)
    yield _rate(profile, "scans", "Full scans of a first table", ("Select_scan",), is_tested=False)
    yield _rate(
        profile, "full_joins", "Joins without an index", ("Select_full_join",), is_tested=False
    )
    yield _rate(
        profile, "sort_merges", "Merge passes of sorts", ("Sort_merge_passes",), is_tested=False
    )


def _waits(profile: Profile) -> Iterator[Figure]:
    for name, title, counter, is_tested in (
        ("lock_waits", "Waits for row locks", "Innodb_row_lock_waits", True),
        ("log_waits", "Waits for the log buffer", "Innodb_log_waits", True),
        ("free_waits", "Waits for a free page", "Innodb_buffer_pool_wait_free", True),
        ("table_misses", "Table cache misses", "Table_open_cache_misses", True),
        ("threads_created", "Threads created", "Threads_created", False),
        ("binlog_disk", "Transactions above binlog_cache_size", "Binlog_cache_disk_use", False),
    ):
        yield _rate(profile, name, title, (counter,), is_tested=is_tested)
    waited, waits = profile.grown("Innodb_row_lock_time"), profile.grown("Innodb_row_lock_waits")
    value = waited / waits if waited is not None and waits else None
    text = "no wait was seen" if value is None else f"{value:.3g} ms"
    yield Figure("lock_wait_ms", "Mean wait for a row lock", value, "ms", text, is_tested=True)


def _bytes(name: str, title: str, value: float | None, unknown: str) -> Figure:
    text = f"unknown: {unknown}" if value is None else size_text(value)
    return Figure(name, title, value, "bytes", text)


def _count(name: str, title: str, value: float | None) -> Figure:
    return Figure(name, title, value, "count", "unknown" if value is None else f"{value:,.0f}")


def _rate(
    profile: Profile,
    name: str,
    title: str,
    counters: tuple[str, ...],
    *,
    is_tested: bool | None = None,
) -> Figure:
    value, ever = profile.per_second(*counters), profile.per_second_ever(*counters)
    text = f"unknown: {_NOT_TOLD}" if value is None else rate_text(value)
    mean = "" if ever is None else rate_text(ever)
    return Figure(name, title, value, "per second", text, mean, is_tested)


def _per_hour(profile: Profile, name: str, title: str, counter: str) -> Figure:
    value, ever = profile.per_second(counter), profile.per_second_ever(counter)
    text = f"unknown: {_NOT_TOLD}" if value is None else f"{human_bytes(int(value * _HOUR))}/h"
    mean = "" if ever is None else f"{human_bytes(int(ever * _HOUR))}/h"
    hourly = None if value is None else value * _HOUR
    return Figure(name, title, hourly, "bytes per hour", text, mean, is_tested=True)


def _share(
    name: str, title: str, part: float | None, whole: float | None, is_tested: bool
) -> Figure:
    value = part / whole if part is not None and whole else None
    text = "unknown" if value is None else percent(value, 2 if value < 0.1 else 0)
    return Figure(name, title, value, "share", text, is_tested=is_tested)


def rate_text(rate: float) -> str:
    """Return a rate with three figures, such as "3,460 per second"."""
    return f"{float(f'{rate:.3g}'):,.7g} per second"


def duration_text(seconds: float) -> str:
    """Return a duration in the largest fitting unit, such as "9 s" or "3 hours"."""
    for unit, name in ((86_400, "days"), (_HOUR, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"
