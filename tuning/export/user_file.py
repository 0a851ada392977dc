"""The user's own my.cnf, line by line: what each line sets on the server, and its fate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import Names
from tuning.catalogue.target import ServerTraits
from tuning.configs.check import import_cnf
from tuning.configs.line import Fate, LineResult
from tuning.configs.parse import decode_cnf, scan_cnf, server_group
from tuning.configs.values import usable
from tuning.errors import InvalidConfig, Problem

SOURCE = "current my.cnf"


@dataclass(frozen=True)
class FileLine:
    """An option line in a group that the server reads.

    index: from 0. sets: what the server has because of it, normalised; None for a value that it
    refuses or changes. is_translated: the server has no option of that name, and `sets` is what it
    means.
    """

    index: int
    result: LineResult
    sets: Mapping[str, str | None] = field(default_factory=dict)
    is_translated: bool = False

    @property
    def given(self) -> str:
        """The value as written, for people."""
        return "without a value" if self.result.value is None else self.result.value


@dataclass(frozen=True)
class UserFile:
    """A file as its lines, each with its end; the text in its encoding are its bytes.

    encoding: of the file, but UTF-8 in place of UTF-16, which no server reads.
    includes: whether it names other files, which were not read.
    """

    lines: tuple[str, ...]
    encoding: str
    options: tuple[FileLine, ...]
    includes: bool
    was_utf_16: bool = False

    @cached_property
    def last(self) -> dict[str, FileLine]:
        """The line that counts, by variable: an own name counts more than a translated one."""
        by_rank = sorted(self.options, key=lambda one: not one.is_translated)
        return {name: one for one in by_rank for name in one.sets}

    @property
    def values(self) -> dict[str, str | None]:
        """The values that it sets, normalised; None for one that the server refuses."""
        return {name: one.sets[name] for name, one in self.last.items()}


def read_user_file(data: bytes, server: ServerTraits) -> UserFile:
    """Read a file for the server, translated from whatever version it was written for.

    Raises InvalidConfig for what no server reads, such as a group without its end. Options that
    the server does not know stay: they are the user's.
    """
    text, encoding = decode_cnf(data)
    scanned = scan_cnf(text, lambda group: server_group(group, server))
    broken = [
        Problem(SOURCE, one.number, one.name, one.reason)
        for one in scanned.others
        if one.fate is Fate.REFUSED
    ]
    if scanned.problem or broken:
        raise InvalidConfig(broken or [Problem(SOURCE, None, "", scanned.problem)])
    report = import_cnf(data, SOURCE, server)
    found = [one for one in report.lines if server_group(one.group, server)]
    was_utf_16 = encoding.startswith("utf-16")
    lines = split_lines(text.removeprefix("\ufeff") if was_utf_16 else text)
    return UserFile(
        lines,
        "utf-8" if was_utf_16 else encoding,
        tuple(_options(found, server)),
        includes=any(line.lstrip().startswith("!") for line in lines),
        was_utf_16=was_utf_16,
    )


def split_lines(text: str) -> tuple[str, ...]:
    """Return the lines as the server and `patch` see them, each with its end."""
    parts = text.split("\n")
    return tuple([f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else []))


def _options(results: Sequence[LineResult], server: ServerTraits) -> Iterator[FileLine]:
    names = Names(server)
    for one in results:
        # Servers read an unambiguous beginning of a name as the name itself.
        knob = load_catalogue().get(names.full(one.name) or one.name)
        if knob is not None and knob.exists_in(server):
            # As the server reads it: a study may have measured a successor instead.
            sets = {} if knob.set_by else {knob.name: usable(knob, one.value, server)}
            yield FileLine(one.number - 1, one, sets)
        else:
            translated = one.fate in (Fate.TRANSLATED, Fate.REMOVED)
            yield FileLine(one.number - 1, one, dict(one.became), translated)
