"""Make a profile of what the script's output says, as clients write it, or say why it is none."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import parse_traits
from tuning.errors import InvalidRequest
from tuning.scale_model.sizes import size_text
from tuning.server_profile.profile import (
    COUNTERS,
    Profile,
    SchemaSize,
    kept_status,
    kept_variables,
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:]{0,99}", re.ASCII)
_VERSION = re.compile(r"(?:5\.5\.5-)?([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})", re.ASCII)
_NEEDED = {"version", "innodb_buffer_pool_size", "max_connections"}
#: Seconds by which the server's clock and its uptime may differ: both are whole seconds.
_CLOCK_SLACK_S = 5
_ANOTHER = "paste the output of one run of the script on one server"
_WHO = ("version", "hostname", "port")
_CLOCK = re.compile(r"([0-9]{1,11})(?:\.[0-9]{1,9})?", re.ASCII)


@dataclass
class _Parts:
    """The parts of an output, in the order in which they came."""

    ends: list[Row] = field(default_factory=list)
    begins: list[Row] = field(default_factory=list)
    variables: list[dict[str, str]] = field(default_factory=list)
    statuses: list[dict[str, str]] = field(default_factory=list)
    sizes: list[Row] = field(default_factory=list)
    files: list[Row] = field(default_factory=list)


def read_profile(
    rows: Iterable[Row],
    *,
    read_by: Literal["script", "attach"] = "script",
    memory_bytes: int | None = None,
    hides_names: bool = False,
) -> Profile:
    """Return the profile of one run of the script.

    hides_names: number the schemas instead of naming them.
    Raises InvalidRequest about `text` or `memory`.
    """
    parts = _parts(rows)
    begin = _check_whole(parts)
    variables, (first, second) = parts.variables[0], parts.statuses
    flavour, version = _server(variables)
    seconds = _check_one_server(parts, first, second)
    target = parse_traits(f"{flavour} {version}")
    kept, kept_first, kept_second = (
        kept_variables(variables, target),
        kept_status(first),
        kept_status(second),
    )
    profile = Profile(
        flavour=flavour,
        version=version,
        read_by=read_by,
        read_at=_clock(begin),
        seconds=seconds,
        variables=kept,
        first=kept_first,
        second=kept_second,
        sizes=_sizes(parts.sizes, hides_names),
        binlog_bytes=_number(parts.files[0], 2) if parts.files else None,
        memory_bytes=memory_bytes,
        dropped_variables=len(variables) - len(kept),
        dropped_status=len(second) - len(kept_second),
    )
    check_memory(profile)
    return profile


def check_memory(profile: Profile) -> None:
    """Raise InvalidRequest if the server's buffer pool is larger than the stated memory."""
    pool, memory = profile.number("innodb_buffer_pool_size"), profile.memory_bytes
    if pool is not None and memory is not None and pool > memory:
        reason = f"{size_text(memory)} is less than the server's buffer pool of {size_text(pool)}"
        raise InvalidRequest([("memory", reason)])


def _parts(rows: Iterable[Row]) -> _Parts:
    parts, current = _Parts(), dict[str, str]()

    def close() -> None:
        nonlocal current
        if "Uptime" in current:
            parts.statuses.append(current)
        elif len(current) > 1:
            parts.variables.append(current)
        current = {}

    for row in rows:
        name = row[0]
        if name.startswith("profile_") or name.lower() == "variable_name":
            close()
            known = {
                "profile_begin": parts.begins,
                "profile_end": parts.ends,
                "profile_size": parts.sizes,
                "profile_file": parts.files,
            }
            if name in known:
                known[name].append(row)
        elif len(row) == 2 and _NAME.fullmatch(name) and name != "part":
            if name in current:
                close()
            current[name] = row[1]
    close()
    return parts


def _check_whole(parts: _Parts) -> Row:
    """Return the first row. Raises InvalidRequest for an output that is not one whole run."""
    counts = {len(parts.begins), len(parts.ends)}
    if counts == {0}:
        raise _bad("this is not the output of the script: no line begins with profile_begin")
    if max(counts) > 1 or len(parts.variables) > 1 or len(parts.statuses) > 2:
        raise _bad(f"holds more than one output: {_ANOTHER}")
    missing = {
        "profile_begin": parts.begins,
        "the variables": [one for one in parts.variables if one.keys() >= _NEEDED],
        "the first status": parts.statuses,
        "the second status": parts.statuses[1:],
        "profile_end": parts.ends,
    }
    lost = [name for name, found in missing.items() if not found]
    if lost == ["the variables"] and _without_innodb(parts.variables):
        raise _bad("shows no variable of InnoDB, and studies measure tables of InnoDB only")
    if lost:
        raise _bad(f"is not complete: without {', '.join(lost)}. Paste all of the output")
    for row in (parts.begins[0], parts.ends[0]):
        if len(row) != 5 or _CLOCK.fullmatch(row[4]) is None:
            raise _bad("the line profile_begin or profile_end is cut")
    return parts.begins[0]


def _without_innodb(found: list[dict[str, str]]) -> bool:
    names = {name for one in found for name in one}
    return "version" in names and not any(name.startswith("innodb_") for name in names)


def _clock(row: Row) -> int:
    return int(row[4].partition(".")[0])


def _server(variables: dict[str, str]) -> tuple[Flavour, str]:
    text = variables["version"]
    found = _VERSION.match(text)
    if found is None:
        raise _bad(f"the server's version {text[:40]!r} cannot be read")
    if "aurora_version" in variables:
        raise _bad("Amazon Aurora has a storage of its own, of which a study says nothing")
    comment = variables.get("version_comment", "").lower()
    flavour = (
        Flavour.MARIADB
        if "mariadb" in text.lower() or "mariadb" in comment
        else Flavour.PERCONA
        if "percona" in comment
        else Flavour.MYSQL
    )
    try:
        parse_traits(f"{flavour} {found[1]}")
    except ValueError as error:
        raise _bad(str(error)) from None
    return flavour, found[1]


def _check_one_server(parts: _Parts, first: dict[str, str], second: dict[str, str]) -> int:
    """Return the seconds between the readings. Raises InvalidRequest if two servers answered."""
    begin, end, variables = parts.begins[0], parts.ends[0], parts.variables[0]
    named = {one[1:4] for one in (begin, end)}
    # VERSION() and @@hostname are also variables, unless an older script dropped them.
    named.add(tuple(variables.get(name, begin[at]) for at, name in enumerate(_WHO, 1)))
    if len(named) > 1:
        raise _bad(f"comes from two servers, or two versions: {_ANOTHER}")
    earlier, later = kept_status(first), kept_status(second)
    went_back = [
        name for name in COUNTERS & earlier.keys() & later.keys() if later[name] < earlier[name]
    ]
    if went_back:
        raise _bad(
            f"{min(went_back)} went back between the two readings: the server was restarted or "
            f"its status flushed, or these are two servers; {_ANOTHER}"
        )
    seconds = int(later.get("Uptime", 0) - earlier.get("Uptime", 0))
    by_clock = _clock(end) - _clock(begin)
    if not 0 < seconds <= by_clock + _CLOCK_SLACK_S:
        raise _bad(
            f"the uptime grew by {seconds} s and the clock by {by_clock} s: these are two "
            f"outputs; {_ANOTHER}"
        )
    return seconds


def _sizes(rows: Sequence[Row], hides_names: bool) -> list[SchemaSize]:
    named: dict[str, str] = {}
    sizes = []
    for row in rows:
        if len(row) != 6:
            raise _bad("a line profile_size is cut")
        name = row[1]
        if hides_names:
            name = named.setdefault(name, f"schema {len(named) + 1}")
        tables, data, index = (_number(row, at) or 0 for at in (3, 4, 5))
        sizes.append(
            SchemaSize(
                schema_name=name[:64],
                engine=row[2][:64],
                tables=tables,
                data_bytes=data,
                index_bytes=index,
            )
        )
    return sizes


def _number(row: Row, at: int) -> int | None:
    text = row[at] if at < len(row) else ""
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _bad(reason: str) -> InvalidRequest:
    return InvalidRequest([("text", reason)])


_SECONDS = 60
_MAX_LINE = 10_000
_CSV = re.compile(r'"?[A-Za-z][\w:. ]{0,100}"?([,;])', re.ASCII)
Row = tuple[str, ...]


def script(seconds: int = _SECONDS) -> str:
    """Return the SQL script that waits so long between its two readings."""
    text = files(__package__).joinpath("script.sql").read_text()
    return text.replace(f"SLEEP({_SECONDS})", f"SLEEP({seconds})")


def statements(seconds: int) -> list[str]:
    """Return the statements of the script, without comments."""
    lines = [line for line in script(seconds).splitlines() if not line.startswith("--")]
    return [one.strip() for one in "\n".join(lines).split(";") if one.strip()]


def rows_of(text: str) -> Iterator[Row]:
    """Yield the rows of a client's output; lines that are no rows have one cell."""
    for line in text.splitlines():
        line = line.strip("\r\n\ufeff")
        if line.startswith("|"):
            cells = line.strip().strip("|").split("|")
        elif "\t" in line:
            cells = line.split("\t")
        elif len(line) <= _MAX_LINE and (found := _CSV.match(line)):
            cells = next(csv.reader([line], delimiter=found[1]))
        else:
            cells = [line]
        yield tuple(one.strip().strip('"') for one in cells)
