"""The values that a server runs with, read back after its start, and where two servers differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tuning.catalogue.knob import Durability, Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.price import losses
from tuning.configs.values import canonical, fixed_default, readable, readable_value, same
from tuning.configs.variables import CAPACITY, REDO, has_capacity, redo_bytes

_BOOLEANS = {"1": "ON", "0": "OFF", "YES": "ON", "NO": "OFF"}
_BINARY_LOG = "log_bin"
# All files of the redo log together, which servers name and count differently.
_REDO_LOG = "redo log"


@dataclass(frozen=True)
class Difference:
    """A knob whose effective value is not the requested one; None: the server shows none."""

    name: str
    requested: str
    effective: str | None


def effective_values(
    names: Iterable[str], variables: Mapping[str, str], target: ServerTraits
) -> dict[str, str]:
    """The values of these knobs as the server runs them, in normalised form.

    `variables` is SHOW GLOBAL VARIABLES with lower-case names; what it lacks is left out.
    """
    found: dict[str, str] = {}
    for name in names:
        knob = load_catalogue().get(name)
        if knob is not None and (shown := variables.get(knob.variable(target))) is not None:
            # MySQL 5.7 has no word for the default of innodb_flush_method.
            found[name] = _normalised(knob, shown or fixed_default(knob, target) or "")
    return found


def _normalised(knob: Knob, shown: str) -> str:
    if knob.kind is Kind.BOOL:
        return _BOOLEANS.get(shown.upper(), shown.upper())
    if knob.kind is Kind.FLOAT and "." in shown:
        return shown.rstrip("0").rstrip(".")
    return shown


def differences(
    knobs: Mapping[str, str], variables: Mapping[str, str], target: ServerTraits
) -> list[Difference]:
    """The knobs whose effective value is not the requested one, in the order of `knobs`."""
    effective = effective_values(knobs, variables, target)
    return [
        Difference(name, requested, effective.get(name))
        for name, requested in knobs.items()
        if name in load_catalogue().knobs
        and (name not in effective or not same(requested, effective[name]))
    ]


def effective_losses(
    variables: Mapping[str, str], target: ServerTraits
) -> dict[str, tuple[Durability, str]]:
    """Class and possible loss of every variable that the server runs below D0.

    Includes what was not requested: MySQL 8.0 chooses O_DIRECT_NO_FSYNC with
    innodb_dedicated_server. `variables` is SHOW GLOBAL VARIABLES with lower-case names.
    """
    names = [name for name, knob in load_catalogue().knobs.items() if knob.exists_in(target)]
    if variables.get(_BINARY_LOG, "ON") == "OFF" and "sync_binlog" in names:
        names.remove("sync_binlog")  # no binary log to lose
    return losses(effective_values(names, variables, target))


def signature(
    variables: Mapping[str, str],
    target: ServerTraits,
    knobs: Mapping[str, str] | None = None,
) -> str:
    """SHA-256 (hex) of all effective values that a config can influence.

    Two configs with the same signature on one server are the same config, whatever they request.
    `variables` is SHOW GLOBAL VARIABLES with lower-case names. Paths, binary logging and other
    things that the advisor or the study sets are not included, nor is anything that differs
    between two starts. `knobs` are the requested ones: they show whether the size of the redo log
    was requested by its old name.
    """
    requested = knobs or {}
    names = [knob.name for knob in load_catalogue().tunable(target)]
    effective = effective_values(names, variables, target)
    if has_capacity(target) and (size := shown_redo_bytes(variables, target, requested)):
        effective = {name: value for name, value in effective.items() if name not in REDO}
        effective[CAPACITY] = f"{size}"
    for name in requested.keys() - load_catalogue().knobs.keys():  # of a user's file
        effective[name] = variables.get(name, requested[name])
    plain = sorted((name, canonical(value)) for name, value in effective.items())
    return hashlib.sha256(json.dumps(plain, separators=(",", ":")).encode()).hexdigest()


def shown_redo_bytes(
    variables: Mapping[str, str], target: ServerTraits, knobs: Mapping[str, str]
) -> int | None:
    """Return the size of the redo log with all its files; None: the server does not say it.

    `variables` and `knobs` as in `signature`. MySQL from 8.0.30 on uses the old pair if the
    capacity is not set, but still shows the default capacity; only its status has the size.
    """
    shown = effective_values(REDO, variables, target)
    changed = {
        name
        for name, value in shown.items()
        if value != fixed_default(load_catalogue().knobs[name], target)
    }
    asked = changed if CAPACITY in changed else changed | (knobs.keys() & set(REDO))
    sizes = {name: int(text) for name, text in shown.items() if text.isdigit()}
    return redo_bytes(sizes.get, asked, target)


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
        shown = self.variables.get(_BINARY_LOG)
        return None if shown is None else shown == "ON"

    def value(self, knob: Knob) -> str | None:
        """The effective value; None if the server has no such variable."""
        if not knob.exists_in(self.target):
            return None
        return effective_values([knob.name], self.variables, self.target).get(knob.name)


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
    """The settings that differ, durability first, else in the catalogue's order.

    Another server program has other defaults: MySQL writes a binary log by default, MariaDB does
    not. What only one of the servers has is left out, unless that one loses something by it.
    Paths are each server's own; the redo log is compared as a whole.
    """
    both = (candidate, baseline)
    found = []
    for name, knob in load_catalogue().knobs.items():
        is_compared = knob.set_by is None and knob.kind is not Kind.PATH and name not in REDO
        ours, theirs = candidate.value(knob), baseline.value(knob)
        if ours == theirs or not (is_compared or name == _BINARY_LOG):
            continue
        if ours is None or theirs is None:
            if not any(name in ran.losses for ran in both):
                continue
        elif same(ours, theirs):
            continue
        shown = [None if one is None else readable_value(knob, one) for one in (ours, theirs)]
        is_durability = bool(knob.durability) or name == _BINARY_LOG
        is_default = not any(name in ran.knobs for ran in both)
        found.append(SettingDifference(name, shown[0], shown[1], is_durability, is_default))
    sizes = [shown_redo_bytes(ran.variables, ran.target, ran.knobs) for ran in both]
    if None not in sizes and sizes[0] != sizes[1]:
        redo = [readable(size) for size in sizes if size is not None]
        asked = any(name in ran.knobs for ran in both for name in REDO)
        found.append(SettingDifference(_REDO_LOG, redo[0], redo[1], False, not asked))
    return sorted(found, key=lambda one: not one.is_durability)
