"""Carries a preset over to the server at hand, with a note for all that is not simply kept.

The result means, as far as the server can do it, what the preset meant on the server it was
written for. It passes the gate (`tuning.configs.gate`) afterwards like any other config.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuning.catalogue.knob import Durability, Kind, Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.configs.gate import why_absent
from tuning.configs.notes import Action, Note
from tuning.configs.presets import Preset
from tuning.configs.refusals import refusal
from tuning.configs.target import ServerTraits
from tuning.configs.values import BadValue, normalise, paper_number, readable

REDO_CAPACITY_SINCE = (8, 0, 30)
_OLD_REDO_FILES = 2
_OLD_REDO_FILE_SIZE = 48 * 1024**2


@dataclass(frozen=True)
class Translation:
    """Normalised knobs for the target and one note per knob that is not simply kept."""

    knobs: dict[str, str]
    notes: tuple[Note, ...]


def translate(
    preset: Preset, target: ServerTraits, *, durability: Durability = Durability.D0
) -> Translation:
    """Translate a preset; what a study of that durability may not have is held at the default."""
    work = _Translator(target, durability)
    values = work.redo_log(dict(preset.knobs))
    for name, text in values.items():
        work.one(name, text)
    return Translation(work.knobs, tuple(work.notes))


class _Translator:
    def __init__(self, target: ServerTraits, durability: Durability) -> None:
        self.target = target
        self.durability = durability
        self.knobs: dict[str, str] = {}
        self.notes: list[Note] = []

    def redo_log(self, values: dict[str, str]) -> dict[str, str]:
        """Size and number of redo log files, as the one figure that newer servers have."""
        pair = ("innodb_log_file_size", "innodb_log_files_in_group")
        if not set(pair) & values.keys():
            return values
        if not self.target.mariadb and self.target.version < REDO_CAPACITY_SINCE:
            return values
        size = paper_number(values.get(pair[0], f"{_OLD_REDO_FILE_SIZE}"))
        files = int(values.get(pair[1], f"{_OLD_REDO_FILES}"))
        sum_of = f"{files} files of {readable(size)}"
        new = pair[0] if self.target.mariadb else "innodb_redo_log_capacity"
        kept = {name: text for name, text in values.items() if name not in pair}
        self.knobs[new] = f"{size * files}"
        if self.target.mariadb:
            self._note(
                pair[0], Action.ADJUSTED, f"{sum_of} become one of {readable(size * files)}"
            )
            self._note(pair[1], Action.DROPPED, f"{self.target} has one redo log file")
        else:
            became = f"{new} = {readable(size * files)}"
            self._note(pair[0], Action.RENAMED, f"{sum_of} become {became}")
            self._note(pair[1], Action.RENAMED, f"counted in {became}")
        return kept

    def one(self, name: str, text: str) -> None:
        """Translate one knob by what the catalogue knows of it."""
        knob = load_catalogue().get(name)
        if knob is None or knob.set_by is SetBy.ADVISOR:
            files = knob is not None or refusal(name) is not None
            self._note(
                name,
                Action.DROPPED,
                "the advisor places files" if files else "not in the catalogue",
            )
        elif name == "innodb_flush_method" and not text:
            self._buffered(knob)
        elif not text:
            self._note(name, Action.DROPPED, "left empty there: the server's default")
        elif not knob.exists_in(self.target):
            self._note(name, Action.DROPPED, why_absent(knob, self.target))
        else:
            self._present(knob, text)

    def _buffered(self, knob: Knob) -> None:
        # Empty was buffered I/O in 5.7; leaving it out would give O_DIRECT on newer servers.
        self.knobs[knob.name] = "fsync"
        self._note(
            knob.name,
            Action.ADJUSTED,
            "left empty there, which meant buffered I/O with fsync; written out, because "
            "the default has changed since",
        )

    def _present(self, knob: Knob, text: str) -> None:
        lost = self._loses(knob, text)
        if lost is not None:
            self._note(knob.name, Action.HELD, lost)
            return
        try:
            self.knobs[knob.name] = normalise(knob, self._clamped(knob, text), self.target)
        except BadValue as bad:
            self._note(knob.name, Action.HELD, f"at the server's default: {text} {bad}")

    def _loses(self, knob: Knob, text: str) -> str | None:
        """Why a value is too unsafe for the study, whether or not the target has it."""
        for rule in knob.durability:
            spelled = {value.lower(): value for value in rule.values | rule.not_values}
            if rule.matches(spelled.get(text.lower(), text), {}) and (
                rule.durability > self.durability
            ):
                default = knob.default(self.target)
                at = f"the server's default ({default})" if isinstance(default, str) else "it"
                return (
                    f"at {at}: {text} gives up {rule.loses} (class {rule.durability}), "
                    f"and this study is {self.durability}"
                )
        return None

    def _clamped(self, knob: Knob, text: str) -> str:
        if knob.kind not in (Kind.INT, Kind.BYTES):
            return text
        value, limits = paper_number(text), knob.limits(self.target)
        if limits is None or limits.low <= value <= limits.high:
            return f"{value}"
        nearest = int(limits.low if value < limits.low else limits.high)
        self._note(
            knob.name,
            Action.ADJUSTED,
            f"{text} is outside {readable(limits.low)} to {readable(limits.high)}, "
            f"where servers make it {nearest}",
        )
        return f"{nearest}"

    def _note(self, name: str, action: Action, detail: str) -> None:
        self.notes.append(Note(name, action, detail))
