"""The user's current my.cnf: which knobs it sets, and in which lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.files.cnf import Setting, parse_cnf
from tuning.configs.files.lookup import knob_behind_switch
from tuning.configs.files.refusals import other_name
from tuning.configs.values import usable

SOURCE = "current my.cnf"


@dataclass(frozen=True)
class CurrentLine:
    """A setting of the file for `knob`; `value` is normalised, None if it is invalid."""

    knob: Knob
    setting: Setting
    value: str | None

    @property
    def text(self) -> str | None:
        """The value to restore: normalised, else as written in the file."""
        return self.value if self.value is not None else self.setting.value


def current_lines(current: bytes, server: ServerTraits) -> dict[str, CurrentLine]:
    """The knobs of the catalogue that the file sets, the last line of each; raises InvalidConfig.

    Nothing is refused that a server accepts: paths, ports and unknown options are the user's.
    """
    return {line.knob.name: line for line in all_lines(current, server)}


def all_lines(current: bytes, server: ServerTraits) -> list[CurrentLine]:
    """Like `current_lines`, with every line of a knob that is set more than once."""
    return list(_meant(parse_cnf(current, SOURCE, server).settings, server))


def _meant(settings: tuple[Setting, ...], server: ServerTraits) -> Iterator[CurrentLine]:
    for setting in settings:
        name, text = setting.name, setting.value
        knob = load_catalogue().get(name) or load_catalogue().get(other_name(name) or "")
        if knob is None and (switched := knob_behind_switch(name)):
            knob, text = switched
        if knob is not None and knob.set_by is None:
            yield CurrentLine(knob, setting, usable(knob, text, server))
