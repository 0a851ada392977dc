"""Reads a my.cnf like the server does, line by line.

Facts on the format: MySQL Reference Manual, "Using Option Files". `!include` is not followed.
The parser refuses what the server would silently cut or misread: NUL bytes, lines longer than its
4 KiB buffer, unclosed quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers.options import MAX_LINE_BYTES
from tuning.catalogue.target import ServerTraits
from tuning.configs.line import Fate, LineResult
from tuning.configs.values import printable
from tuning.errors import InvalidConfig, Problem

#: The largest my.cnf that is read, from a file, a form or the API.
MAX_CONFIG_BYTES = 256 * 1024
#: The most options that a file may have; no server has as many.
MAX_SETTINGS = 2_000
_MAX_SHOWN = 60
_BLANKS = " \t\r\f\v"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_VERSIONED = re.compile(r"(mysqld|mariadb|mariadbd)-([0-9]+)(?:\.([0-9]+))?")
# Seen: 11.8.9 reads [mariadb-11] and [mariadbd-11], 10.11.19 no such group.
_FIRST_OF_A_MAJOR_VERSION = (11, 8)


@dataclass(frozen=True)
class CnfFile:
    """The options for the server in the order of the file, and all other option lines.

    `settings` are still to be judged. `others` are kept (groups of other programs, `!include`) or
    refused (what no server reads); `problem` is why the file as a whole is no my.cnf, "" if it is
    one.
    """

    settings: tuple[LineResult, ...] = ()
    others: tuple[LineResult, ...] = ()
    problem: str = ""


def read_cnf(path: Path) -> bytes:
    """The bytes of a file, at most as many as may be parsed plus one; raises InvalidConfig."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise InvalidConfig([Problem(str(path), None, "", reason)]) from error


def decode_cnf(data: bytes) -> tuple[str, str]:
    """The text of a file and its encoding; `text.encode(encoding)` gives the same bytes.

    Servers read bytes. What is not UTF-8 or UTF-16 is taken as Latin-1, which any bytes are.
    """
    encoding = "utf-8"
    if data.startswith(b"\xfe\xff"):
        encoding = "utf-16-be"
    elif data.startswith(b"\xff\xfe") or (data[1:64:2] and not any(data[1:64:2])):
        encoding = "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = ""
    if text.encode(encoding) == data:
        return text, encoding
    return data.decode("latin-1"), "latin-1"


def server_group(group: str, target: ServerTraits | None) -> bool:
    """Whether the server reads that group."""
    mariadb = target is None or target.mariadb
    if group in {"mysqld", "server"}:
        return True
    if group in {"mariadb", "mariadbd", "client-server", "galera"}:
        return mariadb
    if group == "mysql_cluster":
        return target is None or not target.mariadb
    version = _version_of(group, mariadb=mariadb)
    if version is None or target is None:
        return version is not None
    is_read = len(version) == 2 or target.series >= _FIRST_OF_A_MAJOR_VERSION
    return is_read and version == target.series[: len(version)]


def older_group(group: str, target: ServerTraits) -> bool:
    """Whether the server, or an older version of it, reads that group."""
    if version := _version_of(group, mariadb=target.mariadb):
        return version <= target.series
    return server_group(group, target)


def _version_of(group: str, *, mariadb: bool) -> tuple[int, ...] | None:
    """(10, 11) of a group of MariaDB 10.11's or (11,) of those of any 11; None: of no version."""
    match = _VERSIONED.fullmatch(group)
    if match is None or not (mariadb or match[1] == "mysqld"):
        return None
    version = tuple(int(part) for part in match.groups()[1:] if part)
    if len(version) == 1 and (match[1] == "mysqld" or version < _FIRST_OF_A_MAJOR_VERSION[:1]):
        return None
    return version


def scan_cnf(text: str, reads: Callable[[str], bool], reader: str = "the server") -> CnfFile:
    """Every option line of a file; never raises.

    `reads` says which groups count, `reader` is who reads them, in words.
    """
    if len(text) > MAX_CONFIG_BYTES:
        return CnfFile(problem=f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf")
    settings: list[LineResult] = []
    others: list[LineResult] = []
    group: str | None = None
    # Editors on Windows write a byte order mark, which has no meaning.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        written = raw.removesuffix("\r")
        line = written.strip(_BLANKS)
        found = LineResult(number, "", written, group=group or "")
        if other := _not_read(written, line):
            others.append(_other(found, *other))
        elif not line or line[0] in "#;":
            continue
        elif line[0] == "[":
            name, bracket, _ = line[1:].partition("]")
            # Servers strip blanks only after the name: [ mysqld] is a group that no program reads.
            group = name.rstrip(_BLANKS)
            if not bracket:
                others.append(_other(found, line, "the ] of the group is missing"))
        elif group is None:
            reason = "is before the first group; add [mysqld] above it"
            others.append(_other(found, line, reason))
        else:
            option = _option(found, line, reads, reader)
            (settings if option.fate is Fate.MEASURED else others).append(option)
        if len(settings) + len(others) > MAX_SETTINGS:
            return CnfFile(problem=f"more than {MAX_SETTINGS} options; this is not a my.cnf")
    return CnfFile(tuple(settings), tuple(others))


def _not_read(written: str, line: str) -> tuple[str, str, Fate] | None:
    """Name, reason and fate of a line that is not read whatever its group."""
    if "\x00" in line:
        return "", "contains a NUL byte", Fate.REFUSED
    if len(written.encode()) > MAX_LINE_BYTES:  # the end of a comment would be an option
        return "", f"longer than {MAX_LINE_BYTES} bytes, so the server would cut it", Fate.REFUSED
    if line.startswith("!"):
        reason = "names other files, which are not read here; paste their lines instead"
        return line.split()[0], reason, Fate.KEPT
    return None


def _option(found: LineResult, line: str, reads: Callable[[str], bool], reader: str) -> LineResult:
    text, closed = without_comment(line)
    name, equals, value = (part.strip(_BLANKS) for part in text.partition("="))
    group = found.group
    if not reads(group):
        blank = f"; write [{group.strip()}]" if group != group.strip() else ""
        shown = printable(group, _MAX_SHOWN)
        reason = f"is in [{shown}], a group that {reader} does not read{blank}"
        return _other(found, name, reason, Fate.KEPT)
    if not closed:
        return _other(found, name, "a quote is not closed")
    if not name:
        return _other(found, "", "a value without a name")
    plain = name.replace("-", "_").removeprefix("loose_")
    read = _unescaped(_unquoted(value)) if equals else None
    return LineResult(found.number, plain, found.text, value=read, group=group)


def _other(found: LineResult, name: str, reason: str, fate: Fate = Fate.REFUSED) -> LineResult:
    shown = printable(name, _MAX_SHOWN)
    return LineResult(found.number, shown, found.text, fate, reason, group=found.group)


def without_comment(line: str) -> tuple[str, bool]:
    """The line up to a # outside quotes, and whether every quote is closed."""
    quote = ""
    escaped = False
    for index, letter in enumerate(line):
        if letter in "'\"" and not escaped:
            if not quote:
                quote = letter
            elif quote == letter:
                quote = ""
        elif letter == "#" and not quote:
            return line[:index], True
        escaped = bool(quote) and letter == "\\" and not escaped
    return line, not quote


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] in "'\"" and value[0] == value[-1]
    return value[1:-1] if quoted else value


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), value, flags=re.DOTALL)
