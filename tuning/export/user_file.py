"""The user's own my.cnf, line by line: which variables it sets, and in which lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import Names
from tuning.catalogue.target import ServerTraits
from tuning.configs.judge import Judge
from tuning.configs.line import Fate
from tuning.configs.parse import Setting, decode_cnf, scan_cnf, server_group
from tuning.configs.translation.origin import ANY_VERSION
from tuning.configs.values import usable
from tuning.errors import InvalidConfig, Problem

SOURCE = "current my.cnf"


@dataclass(frozen=True)
class FileLine:
    """A line that sets a variable of the catalogue.

    index: from 0. name: as written, with underscores. given: its value as written, None for a bare
    option. value: normalised, None if it is invalid.
    """

    index: int
    name: str
    given: str | None
    knob: Knob
    value: str | None


@dataclass(frozen=True)
class UserFile:
    """A file as its lines, each with its end; `text.encode(encoding)` are its bytes.

    settings: the lines that set a variable, in order: of the same variable the last one counts.
    includes: whether it names other files, which were not read.
    """

    lines: tuple[str, ...]
    encoding: str
    settings: tuple[FileLine, ...]
    includes: bool

    @property
    def last(self) -> dict[str, FileLine]:
        """The line that counts, by variable."""
        return {one.knob.name: one for one in self.settings}

    @property
    def values(self) -> dict[str, str | None]:
        """What it sets, normalised; None for an invalid value."""
        return {name: one.value for name, one in self.last.items()}


def read_user_file(data: bytes, server: ServerTraits) -> UserFile:
    """Read a file for the server. Unknown lines are the user's, and stay.

    Raises InvalidConfig for what no server reads, such as a group without its end.
    """
    text, encoding = decode_cnf(data)
    found = scan_cnf(text, lambda group: server_group(group, server))
    refused = [one for one in found.others if one.fate is Fate.REFUSED]
    fatal = [Problem(SOURCE, one.number, one.name, one.reason) for one in refused]
    if found.problem:
        fatal.append(Problem(SOURCE, None, "", found.problem))
    if fatal:
        raise InvalidConfig(fatal)
    lines = split_lines(text)
    return UserFile(
        lines,
        encoding,
        tuple(_known(found.settings, server)),
        includes=any(line.lstrip().startswith("!") for line in lines),
    )


def _known(settings: tuple[Setting, ...], server: ServerTraits) -> Iterator[FileLine]:
    judge = Judge(server, Names(server), ANY_VERSION)
    for named in map(judge.name, settings):
        setting, knob = named.setting, load_catalogue().get(named.name)
        # MySQL knows names in lower case only.
        is_read = server.mariadb or setting.name.islower()
        if knob is not None and knob.set_by is None and is_read and not named.limits:
            value = usable(knob, named.value, server)
            yield FileLine(setting.line - 1, setting.name, setting.value, knob, value)


def split_lines(text: str) -> tuple[str, ...]:
    """The lines as the server and `patch` see them, each with its end."""
    parts = text.split("\n")
    return tuple([f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else []))
