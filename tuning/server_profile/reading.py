"""Make a profile of what the script's output says, as clients write it, or say why it is none.

Only what figures and proposals need is kept of an output. So secrets are held back that nobody
thought of. Host names, addresses and paths are never kept.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.errors import InvalidRequest
from tuning.scale_model.sizes import size_text
from tuning.server_profile.figures import counters, needed_status
from tuning.server_profile.profile import Profile, SchemaSize

Row = tuple[str, ...]
_SECONDS = 60
#: Seconds by which the server's clock and its uptime may differ: both are whole seconds.
_CLOCK_SLACK_S = 5
_MAX_LINE = 10_000
_CSV = re.compile(r'"?[A-Za-z][\w:. ]{0,100}"?([,;])', re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:]{0,99}", re.ASCII)
_VERSION = re.compile(r"(?:5\.5\.5-)?([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})", re.ASCII)
_CLOCK = re.compile(r"([0-9]{1,11})(?:\.[0-9]{1,9})?", re.ASCII)
_PLAIN = re.compile(r"[\w.,:+() -]{0,100}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,10})?", re.ASCII)
_NEEDED = {"version", "innodb_buffer_pool_size", "max_connections"}
_WHO = ("version", "hostname", "port")
_ANOTHER = "paste the output of one run of the script on one server"
# Variables that are no knobs of the catalogue and that figures or remarks need.
_VARIABLES = frozenset(
    {
        *("tmp_table_size", "max_heap_table_size", "read_only", "binlog_expire_logs_seconds"),
        *("open_files_limit", "thread_stack", "log_bin", "version_comment"),
    }
)


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
    for raw in text.splitlines():
        line = raw.strip("\r\n\ufeff")
        if line.startswith("|"):
            cells = line.strip().strip("|").split("|")
        elif "\t" in line:
            cells = line.split("\t")
        elif len(line) <= _MAX_LINE and (found := _CSV.match(line)):
            cells = next(csv.reader([line], delimiter=found[1]))
        else:
            cells = [line]
        yield tuple(one.strip().strip('"') for one in cells)


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
    marked = _marked(rows)
    begin, variables, statuses, end = _whole(marked)
    first, second = map(_kept_status, statuses)
    target = _server(variables)
    kept = _kept_variables(variables, target)
    binlog = marked["profile_file"]
    profile = Profile(
        flavour=target.flavour,
        version=".".join(map(str, target.version)),
        read_by=read_by,
        read_at=_clock(begin),
        seconds=_seconds(begin, end, variables, first, second),
        variables=kept,
        first=first,
        second=second,
        sizes=_sizes(marked["profile_size"], hides_names),
        binlog_bytes=_number(binlog[0], 2) if binlog else None,
        memory_bytes=memory_bytes,
        dropped_variables=len(variables) - len(kept),
        dropped_status=len(statuses[1]) - len(second),
    )
    pool = profile.number("innodb_buffer_pool_size")
    if pool is not None and memory_bytes is not None and pool > memory_bytes:
        stated, own = size_text(memory_bytes), size_text(pool)
        reason = f"{stated} is less than the server's buffer pool of {own}"
        raise InvalidRequest([("memory", reason)])
    return profile


def _marked(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Return the rows by their mark; the marks of variables and status have a table instead."""
    marked: dict[str, list[Any]] = defaultdict(list)
    table: dict[str, str] | None = None
    for row in rows:
        name = row[0]
        if name.startswith("profile_"):
            table = {} if name in ("profile_variables", "profile_status") else None
            marked[name].append(row if table is None else table)
        elif table is None or name.lower() == "variable_name":
            continue
        elif len(row) == 2 and _NAME.fullmatch(name):
            table[name] = row[1]
    return marked


def _whole(
    marked: Mapping[str, list[Any]],
) -> tuple[Row, dict[str, str], list[dict[str, str]], Row]:
    """Return the first row, both kinds of tables and the last row.

    Raises InvalidRequest for an output that is not one whole run.
    """
    begins, ends = marked["profile_begin"], marked["profile_end"]
    variables, statuses = marked["profile_variables"], marked["profile_status"]
    if not begins and not ends:
        raise _bad("this is not the output of the script: no line begins with profile_begin")
    if begins[1:] or ends[1:] or variables[1:] or statuses[2:]:
        raise _bad(f"holds more than one output: {_ANOTHER}")
    is_whole = begins and ends and variables and variables[0].keys() >= _NEEDED
    if not (is_whole and len(statuses) == 2 and "Uptime" in statuses[1]):
        raise _bad("is not complete, or has no variable of InnoDB: paste all of the output")
    for row in (begins[0], ends[0]):
        if len(row) != 5 or _CLOCK.fullmatch(row[4]) is None:
            raise _bad("the line profile_begin or profile_end is cut")
    return begins[0], variables[0], statuses, ends[0]


def _clock(row: Row) -> int:
    return int(row[4].partition(".")[0])


def _server(variables: Mapping[str, str]) -> ServerTraits:
    text = variables["version"]
    found = _VERSION.match(text)
    if found is None:
        raise _bad(f"the server's version {text[:40]!r} cannot be read")
    if "aurora_version" in variables:
        raise _bad("Amazon Aurora has a storage of its own, of which a study says nothing")
    comment = f"{text} {variables.get('version_comment', '')}".lower()
    named = (one for one in (Flavour.MARIADB, Flavour.PERCONA) if one in comment)
    try:
        return parse_traits(f"{next(named, Flavour.MYSQL)} {found[1]}")
    except ValueError as error:
        raise _bad(str(error)) from None


def _seconds(
    begin: Row,
    end: Row,
    variables: Mapping[str, str],
    first: Mapping[str, float],
    second: Mapping[str, float],
) -> int:
    """Return the seconds between the readings. Raises InvalidRequest if two servers answered."""
    # VERSION() and @@hostname are also variables, unless an older script dropped them.
    shown = tuple(variables.get(name, begin[at]) for at, name in enumerate(_WHO, 1))
    if len({begin[1:4], end[1:4], shown}) > 1:
        raise _bad(f"comes from two servers, or two versions: {_ANOTHER}")
    known = counters() & first.keys() & second.keys()
    if went_back := [name for name in known if second[name] < first[name]]:
        raise _bad(
            f"{min(went_back)} went back between the two readings: the server was restarted or "
            f"its status flushed, or these are two servers; {_ANOTHER}"
        )
    seconds = int(second.get("Uptime", 0) - first.get("Uptime", 0))
    by_clock = _clock(end) - _clock(begin)
    if not 0 < seconds <= by_clock + _CLOCK_SLACK_S:
        raise _bad(
            f"the uptime grew by {seconds} s and the clock by {by_clock} s: these are two "
            f"outputs; {_ANOTHER}"
        )
    return seconds


def _kept_variables(read: Mapping[str, str], target: ServerTraits) -> dict[str, str]:
    catalogue = load_catalogue().knobs.values()
    knobs = {
        one.variable(target)
        for one in catalogue
        if one.exists_in(target) and one.kind not in (Kind.PATH, Kind.STRING)
    }
    wanted = knobs | _VARIABLES
    return {name: text for name, text in read.items() if name in wanted and _PLAIN.fullmatch(text)}


def _kept_status(read: Mapping[str, str]) -> dict[str, float]:
    needed = needed_status()
    return {
        name: float(text)
        for name, text in read.items()
        if name in needed and _NUMBER.fullmatch(text) is not None
    }


def _sizes(rows: Sequence[Row], hides_names: bool) -> list[SchemaSize]:
    numbers: dict[str, int] = {}
    sizes = []
    for row in rows:
        if len(row) != 6:
            raise _bad("a line profile_size is cut")
        number = numbers.setdefault(row[1], len(numbers) + 1)
        tables, data, index = (_number(row, at) or 0 for at in (3, 4, 5))
        sizes.append(
            SchemaSize(
                schema_name=f"schema {number}" if hides_names else row[1][:64],
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
