"""Figures of a profile: each with its unit, or with the reason why it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

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
#: By name of a figure: title, counters, and whether TPC-C has such a load.
Rates = Mapping[str, tuple[str, tuple[str, ...], bool | None]]


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


_TEXTS: dict[str, Callable[[float], str]] = {
    "bytes": size_text,
    "per second": lambda value: rate_text(value),
    "bytes per hour": lambda value: f"{human_bytes(value)}/h",
    "share": lambda value: percent(value, 2 if value < 0.1 else 0),
    "count": lambda value: f"{value:,.0f}",
    "seconds": lambda value: f"every {duration_text(value)}",
    "ms": lambda value: f"{value:.3g} ms",
}
_LOAD: Rates = {
    "questions": ("Statements", ("Questions",), None),
    "commits": ("COMMIT statements", COMMITS, True),
    "writes": ("Statements that write", WRITES, True),
}
_READS: Rates = {
    "scans": ("Full scans of a first table", ("Select_scan",), False),
    "full_joins": ("Joins without an index", ("Select_full_join",), False),
    "sort_merges": ("Merge passes of sorts", ("Sort_merge_passes",), False),
}
_WAITS: Rates = {
    "lock_waits": ("Waits for row locks", ("Innodb_row_lock_waits",), True),
    "log_waits": ("Waits for the log buffer", ("Innodb_log_waits",), True),
    "free_waits": ("Waits for a free page", ("Innodb_buffer_pool_wait_free",), True),
    "table_misses": ("Table cache misses", ("Table_open_cache_misses",), True),
    "threads_created": ("Threads created", ("Threads_created",), False),
    "binlog_disk": ("Transactions above binlog_cache_size", ("Binlog_cache_disk_use",), False),
}


def figures_of(profile: Profile) -> list[Figure]:
    """Return all figures in the order in which pages show them."""
    return [*_sizes(profile), *_connections(profile), *_writes(profile), *_memory(profile)]


def figure(profile: Profile, name: str) -> float | None:
    """Return the value of one figure."""
    return next(one.value for one in figures_of(profile) if one.name == name)


def _sizes(profile: Profile) -> Iterator[Figure]:
    unseen = "the account saw no InnoDB table"
    yield _figure("data", "Data in InnoDB", "bytes", profile.data_bytes, unknown=unseen)
    others = [one for one in profile.sizes if one.engine.lower() != "innodb"]
    if others:
        total = sum(one.data_bytes + one.index_bytes for one in others)
        engines = ", ".join(sorted({one.engine for one in others}))
        yield _figure("other_data", f"Data in other engines ({engines})", "bytes", total)
    typed = "no server tells it: type it in"
    yield _figure("memory", "Memory of the host", "bytes", profile.memory_bytes, unknown=typed)
    yield _figure("pool", "Buffer pool", "bytes", profile.number("innodb_buffer_pool_size"))


def _connections(profile: Profile) -> Iterator[Figure]:
    for name, title, counter in (
        ("connected", "Connections in use", "Threads_connected"),
        ("running", "Threads running", "Threads_running"),
    ):
        seen = [one[counter] for one in (profile.first, profile.second) if counter in one]
        yield _figure(name, title, "count", max(seen, default=None))
    title = f"Connections at peak, of {profile.variables.get('max_connections', '?')} allowed"
    yield _figure("peak", title, "count", profile.second.get("Max_used_connections"))
    yield from _rates(profile, _LOAD)


def _writes(profile: Profile) -> Iterator[Figure]:
    redo = _hourly(profile, "redo_per_hour", "Redo log written", "Innodb_os_log_written")
    yield redo
    size, age = profile.redo_bytes, profile.checkpoint_age
    yield _figure("redo_size", "Size of the redo log", "bytes", size)
    turns = size * _HOUR / redo.value if size and redo.value else None
    yield _figure("redo_turn", "The redo log turns over", "seconds", turns, is_tested=True)
    yield _binlog(profile)
    of_size = f", {percent(age / size)} of the redo log" if age is not None and size else ""
    found = _figure("checkpoint_age", "Checkpoint age", "bytes", age, is_tested=True)
    yield replace(found, text=f"{found.text}{of_size}")


def _binlog(profile: Profile) -> Figure:
    name, title, uptime = "binlog_per_hour", "Binary log written", profile.second.get("Uptime")
    if profile.variables.get("log_bin") == "OFF":
        found = _figure(name, title, "bytes per hour", 0, is_tested=True)
        return replace(found, text="off")
    if "Binlog_bytes_written" in profile.second or profile.binlog_bytes is None or not uptime:
        return _hourly(profile, name, title, "Binlog_bytes_written")
    mean = profile.binlog_bytes * _HOUR / uptime
    found = _figure(name, title, "bytes per hour", mean, is_tested=True)
    return replace(found, text=f"{found.text} on average since the server started")


def _memory(profile: Profile) -> Iterator[Figure]:
    pool, grown, now = "Innodb_buffer_pool_", profile.grown, profile.second.get
    yield from _rates(profile, {"pool_misses": ("Buffer pool misses", (f"{pool}reads",), True)})
    missed = _share(grown(f"{pool}reads"), grown(f"{pool}read_requests"))
    title = "Page requests that missed the pool"
    yield _figure("pool_miss_share", title, "share", missed, is_tested=True)
    dirty = _share(now(f"{pool}pages_dirty"), now(f"{pool}pages_total"))
    yield _figure("dirty", "Dirty pages in the pool", "share", dirty, is_tested=True)
    on_disk = "Created_tmp_disk_tables"
    yield from _rates(profile, {"tmp_disk": ("Temporary tables on disk", (on_disk,), False)})
    went = _share(grown(on_disk), grown("Created_tmp_tables"))
    title = "Temporary tables that went to disk"
    yield _figure("tmp_disk_share", title, "share", went, is_tested=False)
    yield from _rates(profile, {**_READS, **_WAITS})
    wait_ms = _share(grown("Innodb_row_lock_time"), grown("Innodb_row_lock_waits"))
    title, unseen = "Mean wait for a row lock", "no wait was seen"
    yield _figure("lock_wait_ms", title, "ms", wait_ms, unknown=unseen, is_tested=True)


def _figure(
    name: str,
    title: str,
    unit: str,
    value: float | None,
    *,
    unknown: str = "the server does not tell",
    ever: float | None = None,
    is_tested: bool | None = None,
) -> Figure:
    text = f"unknown: {unknown}" if value is None else _TEXTS[unit](value)
    mean = "" if ever is None else _TEXTS[unit](ever)
    return Figure(name, title, value, unit, text, mean, is_tested)


def _rates(profile: Profile, rates: Rates) -> Iterator[Figure]:
    for name, (title, counters, is_tested) in rates.items():
        rate, ever = profile.per_second(*counters), profile.per_second_ever(*counters)
        yield _figure(name, title, "per second", rate, ever=ever, is_tested=is_tested)


def _hourly(profile: Profile, name: str, title: str, counter: str) -> Figure:
    rate, ever = (
        None if one is None else one * _HOUR
        for one in (profile.per_second(counter), profile.per_second_ever(counter))
    )
    return _figure(name, title, "bytes per hour", rate, ever=ever, is_tested=True)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def rate_text(rate: float) -> str:
    """Return a rate with three figures, such as "3,460 per second"."""
    return f"{float(f'{rate:.3g}'):,.7g} per second"


def duration_text(seconds: float) -> str:
    """Return a duration in the largest fitting unit, such as "9 s" or "3 hours"."""
    for unit, name in ((86_400, "days"), (_HOUR, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"
