"""Reads a my.cnf like the server does, and reports its problems line by line.

Facts on the format: MySQL Reference Manual, "Using Option Files". Two things differ on purpose:
`!include` is refused (a config is one file), and so is what the server would silently cut or
misread (NUL bytes, lines longer than its 4 KiB buffer, unclosed quotes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers.option_file import MAX_LINE_BYTES
from tuning.catalogue.target import ServerTraits
from tuning.configs.values import printable
from tuning.errors import InvalidConfig, Problem

#: The largest my.cnf that is read, from a file, a form or the API.
MAX_CONFIG_BYTES = 256 * 1024
#: The most options that a file may have; no server has as many.
MAX_SETTINGS = 2_000
#: The most groups for other programs, and the most problems, that are reported one by one.
MAX_REPORTED = 200
_MAX_SHOWN = 60
_BLANKS = " \t\r\f\v"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_VERSIONED = re.compile(r"(mysqld|mariadb|mariadbd)-([0-9]+)(?:\.([0-9]+))?")
# Seen: 11.8.9 reads [mariadb-11] and [mariadbd-11], 10.11.19 no such group.
_FIRST_OF_A_MAJOR_VERSION = (11, 8)


@dataclass(frozen=True)
class Setting:
    """One option of a group that the server reads.

    `name` has underscores and no `loose_`, which is in `loose`; `value` is unquoted and unescaped,
    None for a bare option.
    """

    name: str
    value: str | None
    line: int
    loose: bool = False


@dataclass(frozen=True)
class CnfFile:
    """The settings for the server in the order of the file, and the groups of other programs.

    `skipped` has line and name of each header of such a group, `problems` what could not be read;
    of both only the first MAX_REPORTED are kept. `more_skipped` counts the other headers, and the
    last problem counts the other problems.
    """

    source: str
    settings: tuple[Setting, ...]
    other_groups: tuple[str, ...]
    skipped: tuple[tuple[int, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    more_skipped: int = 0


def read_cnf(path: Path) -> bytes:
    """The bytes of a file, at most as many as may be parsed plus one; raises InvalidConfig."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise InvalidConfig([Problem(str(path), None, "", reason)]) from error


def parse_cnf(data: bytes, source: str, target: ServerTraits | None = None) -> CnfFile:
    """Parse the bytes of a my.cnf; raises InvalidConfig with every problem found.

    `target` decides which version groups ([mysqld-8.4]) count; without it all of them do.
    """
    file = scan_cnf(data, source, lambda group: server_group(group, target))
    if file.problems:
        raise InvalidConfig(file.problems)
    return file


def scan_cnf(data: bytes, source: str, reads: Callable[[str], bool]) -> CnfFile:
    """Like `parse_cnf`, but never raises: returns what can be read along with the problems.

    `reads` says which groups count.
    """
    if len(data) > MAX_CONFIG_BYTES:
        reason = f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf"
        return CnfFile(source, (), (), problems=(Problem(source, None, "", reason),))
    return _Parser(source, reads).parse(data)


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


class _Parser:
    def __init__(self, source: str, reads: Callable[[str], bool]) -> None:
        self._source = source
        self._reads = reads
        self._problems: list[Problem] = []
        self._settings: list[Setting] = []
        self._skipped: list[tuple[int, str]] = []
        self._group: str | None = None
        self._more_skipped = 0
        self._more_problems = 0

    def parse(self, data: bytes) -> CnfFile:
        for number, line in self._lines(data):
            self._read(number, line)
            if len(self._settings) > MAX_SETTINGS:
                self._settings.pop()
                reason = f"more than {MAX_SETTINGS} options; this is not a my.cnf"
                self._problems.append(Problem(self._source, None, "", reason))
                break
        if self._more_problems:
            reason = f"{self._more_problems} more lines cannot be read"
            self._problems.append(Problem(self._source, self._problems[-1].line, "", reason))
        return CnfFile(
            self._source,
            tuple(self._settings),
            tuple(dict.fromkeys(group for _, group in self._skipped)),
            tuple(self._skipped),
            tuple(self._problems),
            self._more_skipped,
        )

    def _lines(self, data: bytes) -> Iterator[tuple[int, str]]:
        # Editors on Windows write a byte order mark, which has no meaning.
        for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
            if b"\x00" in raw:
                self._problem(number, "", "contains a NUL byte")
            elif len(raw) > MAX_LINE_BYTES:
                self._problem(
                    number, "", f"longer than {MAX_LINE_BYTES} bytes, so the server would cut it"
                )
            else:
                try:
                    yield number, raw.decode("utf-8").strip(_BLANKS)
                except UnicodeDecodeError:
                    self._problem(number, "", "is not UTF-8 text")

    def _read(self, number: int, line: str) -> None:
        if not line or line[0] in "#;":
            return
        if line[0] == "!":
            self._problem(
                number,
                line.split()[0],
                "other files are not read; paste their lines instead",
            )
        elif line[0] == "[":
            self._read_group(number, line)
        elif self._group is None:
            self._problem(
                number,
                line,
                "is before the first group; add [mysqld] above it",
            )
        elif self._reads(self._group):
            self._read_option(number, line)

    def _read_group(self, number: int, line: str) -> None:
        name, bracket, _ = line[1:].partition("]")
        # Servers strip blanks only after the name: [ mysqld] is a group that no program reads.
        self._group = name.rstrip(_BLANKS)
        if not bracket:
            self._problem(number, line, "the ] of the group is missing")
        elif not self._reads(self._group):
            if len(self._skipped) < MAX_REPORTED:
                self._skipped.append((number, self._group))
            else:
                self._more_skipped += 1

    def _read_option(self, number: int, line: str) -> None:
        text, closed = without_comment(line)
        name, equals, value = (part.strip(_BLANKS) for part in text.partition("="))
        if not closed:
            self._problem(number, name, "a quote is not closed")
        elif not name:
            self._problem(number, "", "a value without a name")
        else:
            plain = name.replace("-", "_")
            self._settings.append(
                Setting(
                    name=plain.removeprefix("loose_"),
                    value=_unescaped(_unquoted(value)) if equals else None,
                    line=number,
                    loose=plain.startswith("loose_"),
                )
            )

    def _problem(self, line: int, name: str, reason: str) -> None:
        if len(self._problems) >= MAX_REPORTED:
            self._more_problems += 1
            return
        self._problems.append(Problem(self._source, line, printable(name, _MAX_SHOWN), reason))


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
