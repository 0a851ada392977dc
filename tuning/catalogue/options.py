"""Options of servers that are no knobs: which servers have them, and which are harmless in a run.

`options.yaml` knows them by flavour and series; the inventory of a host names the options of its
own servers exactly. `why_kept` is the first wall against options that reach out of a run, and
`benchmarks.servers.forbidden` is the second.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Named, read_data_file
from benchmarks.servers.binary import Flavour
from benchmarks.servers.forbidden import why_forbidden
from tuning.catalogue.facts import Name
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits

DATA_FILE = Path(__file__).resolve().parent / "options.yaml"
_NO_PATH = r"[^/\\\x00-\x1f\x7f]*"
_LAST = (999, 0)
_NEAR = 0.8
_MACHINE = "belongs to the real server"


class OptionType(StrEnum):
    """How a value is written."""

    SWITCH = "switch"
    NUMBER = "number"
    TEXT = "text"


def _series(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _span(written: object) -> object:
    if not isinstance(written, str):
        return written
    first, _, last = written.partition("-")
    return _series(first), _series(last) if last else _LAST


Span = Annotated[tuple[tuple[int, int], tuple[int, int]], BeforeValidator(_span)]


@dataclass(frozen=True, config=STRICT)
class Spans:
    """The first and last series that has something, by flavour."""

    mysql: Span | None = None
    percona: Span | None = None
    mariadb: Span | None = None

    def has(self, target: ServerTraits) -> bool:
        """Whether the target has it; Percona Server has what MySQL has."""
        spans = [getattr(self, target.flavour)]
        if target.flavour is Flavour.PERCONA:
            spans.append(self.mysql)
        return any(span is not None and span[0] <= target.series <= span[1] for span in spans)


@dataclass(frozen=True, config=STRICT)
class Option(Spans):
    """An option of a server.

    `applied` is the pattern of values that are harmless in a run, "any" for all that name no path.
    `only` is the pattern of values that servers take, "" if any or unknown. `now` is its present
    name, `later` what came instead of it.
    """

    name: Name = ""
    type: OptionType = OptionType.TEXT
    applied: str = ""
    only: str = ""
    now: str = ""
    later: str = ""

    def harmless(self, value: str) -> bool:
        """Whether a run may set this value: it neither reaches out of the run nor stops it."""
        pattern = _NO_PATH if self.applied == "any" else self.applied
        is_listed = bool(pattern) and re.fullmatch(pattern, value, re.IGNORECASE) is not None
        return is_listed and re.fullmatch(_NO_PATH, value) is not None

    def why_absent(self, target: ServerTraits) -> str:
        """Why the target does not have it."""
        ours = self.mysql if target.flavour is Flavour.PERCONA else getattr(self, target.flavour)
        if ours is not None and target.series > ours[1]:
            gone = f" (last in {'.'.join(map(str, ours[1]))})"
        elif ours is not None:
            gone = f" (added in {'.'.join(map(str, ours[0]))})"
        else:
            have = [FLAVOUR_NAMES[one] for one in Flavour if getattr(self, one) is not None]
            gone = f" (only in {' and '.join(have)})"
        return f"{target} does not have it{gone}{f'; use {self.later}' if self.later else ''}"


@dataclass(frozen=True, config=STRICT)
class Options:
    """All options by name, the words of options that take several, and why others are kept.

    families: the beginnings of the names that belong to something, by what that is.
    kept: reasons that follow the name of an option.
    """

    options: Annotated[Named[Name, Option], Field(min_length=1)]
    flags: Frozen[str, Frozen[str, Spans]]
    families: Frozen[str, tuple[str, ...]]
    kept: Frozen[Name, str]


@functools.cache
def load_options() -> Options:
    """The reviewed options; raises InvalidDataFile."""
    return read_data_file(DATA_FILE, Options)


def why_kept(name: str) -> str:
    """Why a run never sets an option that is not applied, in words that follow its name."""
    known = load_options()
    if name in known.kept:
        return known.kept[name]
    for what, beginnings in known.families.items():
        if name.startswith(beginnings):
            return f"belongs to {what}, which a run does not have"
    return why_forbidden(name) or _MACHINE


def of_plugin(name: str) -> bool:
    """Whether a plugin that is loaded, or a component, may have an option of that name."""
    families = load_options().families.values()
    begun = tuple(f"{one.rstrip('_')}_" for beginnings in families for one in beginnings)
    return "." in name or name.startswith(begun)


class Names:
    """The names that a server understands.

    `own`: the options that the server program itself lists, None where that is not known.
    """

    def __init__(self, target: ServerTraits, own: Collection[str] | None = None) -> None:
        self._target = target
        self._own = own
        knobs = load_catalogue().knobs.values()
        self._here = {knob.name for knob in knobs if knob.exists_in(target)}
        options = load_options().options
        if own is None:
            self._here |= {name for name, option in options.items() if option.has(target)}
        else:
            self._here |= set(own)
        self._all = {*load_catalogue().knobs, *options, *self._here}

    def has(self, name: str) -> bool:
        """Whether the server has the option."""
        return name in self._here

    def full(self, name: str) -> str | None:
        """The option that the name means to any server; servers take an unambiguous beginning.

        MariaDB reads names in any case, and so do we.
        """
        name = name.lower()
        if name in self._all:
            return name
        for names in (self._here, self._all):
            begun = [one for one in names if one.startswith(name)]
            if len(begun) == 1 and len(name) > 1:
                return begun[0]
        return None

    def nearest(self, name: str) -> str | None:
        """The option that a misspelt name probably means."""
        found = difflib.get_close_matches(name.lower(), sorted(self._here), n=1, cutoff=_NEAR)
        return found[0] if found else None


def unknown_flags(name: str, value: str, target: ServerTraits) -> Iterator[tuple[str, bool]]:
    """Each word of an option that takes several which the target does not know.

    With it stands whether any other server knows the word.
    """
    known = {word.lower(): spans for word, spans in load_options().flags[name].items()}
    for word in value.split(",") if value else ():  # servers take no blank and no empty word
        plain = word.partition("=")[0].lower()
        if word.isdigit() or plain == "default":
            continue
        if (
            name == "optimizer_switch" and not re.fullmatch(r"(?i)\w+=(on|off|default)", word)
        ) or plain not in known:
            yield word, False
        elif not known[plain].has(target):
            yield word, True
