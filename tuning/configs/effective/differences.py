"""Where two servers that are compared differ, by the values that they run with.

Another server program has other defaults, some of which weigh more than what is looked for: MySQL
writes a binary log by default, MariaDB does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tuning.catalogue.knob import Durability, Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.readback import effective_losses, effective_values, shown_redo_bytes
from tuning.configs.effective.variables import REDO
from tuning.configs.values import readable, readable_value, same

BINARY_LOG = "log_bin"
#: All files of the redo log together, which servers name and count differently.
REDO_LOG = "redo log"


@dataclass(frozen=True)
class EffectiveSettings:
    """A server as it ran: SHOW GLOBAL VARIABLES with lower-case names, and its config's knobs."""

    target: ServerTraits
    variables: Mapping[str, str]
    knobs: Mapping[str, str]

    @cached_property
    def losses(self) -> dict[str, tuple[Durability, str]]:
        """As in `effective_losses`."""
        return effective_losses(self.variables, self.target)

    @property
    def durability(self) -> Durability:
        """Its class: that of its least safe value, whether requested or not."""
        return max((given for given, _ in self.losses.values()), default=Durability.D0)

    @property
    def logs(self) -> bool | None:
        """Whether it writes a binary log; None: it does not say so."""
        shown = self.variables.get(BINARY_LOG)
        return None if shown is None else shown == "ON"


@dataclass(frozen=True)
class SettingDifference:
    """A setting with two values. They are for people, None where a server has no such setting.

    is_durability: it has a part in what a crash may cost. is_default: neither config sets it.
    """

    name: str
    candidate: str | None
    baseline: str | None
    is_durability: bool
    is_default: bool


def setting_differences(
    candidate: EffectiveSettings, baseline: EffectiveSettings
) -> list[SettingDifference]:
    """The settings that differ, those about durability first, else in the catalogue's order.

    What only one of the servers has is left out, unless that one loses something by it.
    """
    found = [
        one
        for knob in load_catalogue().knobs.values()
        if _is_compared(knob) and (one := _difference(knob, candidate, baseline)) is not None
    ]
    both = (candidate, baseline)
    sizes = [shown_redo_bytes(ran.variables, ran.target, ran.knobs) for ran in both]
    if None not in sizes and sizes[0] != sizes[1]:
        shown = [readable(size) for size in sizes if size is not None]
        asked = any(name in ran.knobs for ran in both for name in REDO)
        found.append(SettingDifference(REDO_LOG, shown[0], shown[1], False, not asked))
    return sorted(found, key=lambda one: not one.is_durability)


def _is_compared(knob: Knob) -> bool:
    """Not paths, which are each server's own, nor the redo log, which is compared as a whole."""
    if knob.name == BINARY_LOG:
        return True
    return knob.set_by is None and knob.kind is not Kind.PATH and knob.name not in REDO


def _difference(
    knob: Knob, candidate: EffectiveSettings, baseline: EffectiveSettings
) -> SettingDifference | None:
    ours, theirs = (_value(knob, ran) for ran in (candidate, baseline))
    if ours is None and theirs is None:
        return None
    loses = any(knob.name in ran.losses for ran in (candidate, baseline))
    if (ours is None or theirs is None) and not loses:
        return None
    if ours is not None and theirs is not None and same(ours, theirs):
        return None
    return SettingDifference(
        knob.name,
        None if ours is None else readable_value(knob, ours),
        None if theirs is None else readable_value(knob, theirs),
        is_durability=bool(knob.durability) or knob.name == BINARY_LOG,
        is_default=knob.name not in candidate.knobs and knob.name not in baseline.knobs,
    )


def _value(knob: Knob, ran: EffectiveSettings) -> str | None:
    if not knob.exists_in(ran.target):
        return None
    return effective_values([knob.name], ran.variables, ran.target).get(knob.name)
