"""Requested and effective values of a config, read back after the server's start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Durability, Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.durability import losses
from tuning.configs.effective.variables import CAPACITY, REDO, has_capacity, redo_bytes
from tuning.configs.values import canonical, fixed_default, same

_BOOLEANS = {"1": "ON", "0": "OFF", "YES": "ON", "NO": "OFF"}


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
    if variables.get("log_bin", "ON") == "OFF" and "sync_binlog" in names:
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
    names = [knob.name for knob in load_catalogue().tunable(target)]
    effective = effective_values(names, variables, target)
    if has_capacity(target) and (size := shown_redo_bytes(variables, target, knobs or {})):
        effective = {name: value for name, value in effective.items() if name not in REDO}
        effective[CAPACITY] = f"{size}"
    for name in (knobs or {}).keys() - load_catalogue().knobs.keys():
        effective[name] = variables.get(name, (knobs or {})[name])  # of a user's file
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

    def value(name: str) -> int | None:
        text = shown.get(name, "")
        return int(text) if text.isdigit() else None

    return redo_bytes(value, asked, target)


def _normalised(knob: Knob, shown: str) -> str:
    if knob.kind is Kind.BOOL:
        return _BOOLEANS.get(shown.upper(), shown.upper())
    if knob.kind is Kind.FLOAT and "." in shown:
        return shown.rstrip("0").rstrip(".")
    return shown
