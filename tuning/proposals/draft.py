"""A proposal under construction: settings with reasons, within the server's limits and costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.storage.human import human_bytes
from tuning.catalogue.costs import CostKind
from tuning.catalogue.facts import reached
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import GIB, MIB, Expected, by_itself
from tuning.configs.line import Action, Note
from tuning.configs.memory import largest_pool
from tuning.configs.presets import unrounded_pool
from tuning.configs.price import forbidden_costs, free_redo_bytes
from tuning.configs.situation import Situation
from tuning.configs.values import BadValue, normalise, same
from tuning.configs.variables import INSTANCES, redo_settings

# A redo log takes at most this part of what is free on the device.
_MAX_PART_OF_FREE = 4
_MAX_REDO = 128 * GIB
_MIN_REDO = 8 * MIB
_STEP = 0.97
# Below what the gate allows: parts that are set later make the server round the pool up.
_MAX_POOL = 0.8


@dataclass
class Draft:
    """Values so far by name, normalised and in their order, with a note on each.

    left_out: notes on values that were left out for their cost.
    """

    situation: Situation
    knobs: dict[str, str] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)
    left_out: list[Note] = field(default_factory=list)

    @property
    def expected(self) -> Expected:
        """The server's expected values with the settings so far."""
        return Expected(self.knobs, self.situation.target, self.situation.host)

    @property
    def pool_bytes(self) -> int:
        """The buffer pool with the settings so far."""
        return self.expected.pool() or 0

    def number(self, name: str) -> float | None:
        """The value of a variable with the settings so far, also where the server computes it."""
        text = self.knobs.get(name) or by_itself(name, self.expected)
        return None if text is None else float(text)

    def set(self, name: str, value: float | str, reason: str, source: str) -> None:
        """Set a knob if the server has it and its cost is allowed, within the server's limits.

        reason: a plain sentence without a full stop.
        """
        knob, target = load_catalogue().knobs[name], self.situation.target
        if not knob.exists_in(target) or reached(target.version, knob.facts(target).ignored):
            return
        limits = knob.limits(target)
        if limits is not None and not isinstance(value, str):
            value = min(max(value, limits.low), limits.high)
        if knob.kind in (Kind.INT, Kind.BYTES) and not isinstance(value, str):
            value = int(value)
        try:
            text = normalise(knob, f"{value}", target)
        except BadValue:
            return  # a word that this server does not have
        costs = forbidden_costs({name: text}, target, self.situation.allowed, self.situation.host)
        if costs:
            kinds = ",".join(sorted({one.kind for one in costs}))
            why = f"{text} costs {kinds}, which is not allowed (--allow {kinds}): {reason}"
            self.left_out.append(Note(name, Action.HELD, f"{why} ({source})"))
            return
        self.knobs[name] = text
        self.notes[name] = Note(name, Action.PROPOSED, f"{reason} ({source})")

    def fact(self, name: str) -> Any:
        """The fact that rules know by that name (`rule_sets.yaml`); None if it is unknown."""
        resources, host = self.situation.resources, self.situation.host
        device, target = self.situation.device, self.situation.target
        redo, commit_us = self.situation.redo_bytes_per_hour, device.commit_us
        facts = {
            "memory": resources.memory_bytes,
            "data": resources.data_bytes,
            "cpus": resources.logical_cpus,
            "connections": host.connections or 0,
            "pool": self.pool_bytes,
            "parts": self.number(INSTANCES) or 1,
            "ssd": device.is_ssd,
            "disk": device.is_disk,
            "reads": device.read_iops,
            "writes": device.write_iops,
            "probed": device.write_iops is not None,
            "commit_ms": None if commit_us is None else commit_us / 1000,
            "redo_per_hour": redo,
            "redo_measured": redo is not None,
            "direct_io": host.direct_io is not False,
            "binary_log": host.binary_log is not False,
            "old_mysql": not target.mariadb and target.version < (8, 4),
        }
        if name not in facts and name not in load_catalogue().knobs:
            raise ValueError(f"there is no fact {name!r}")
        return facts[name] if name in facts else self.number(name)

    def pool_within_memory(self, wanted: float) -> int:
        """The size of a buffer pool for the memory, one that the server does not round."""
        most = self.largest_pool()
        asked = min(wanted, most)
        size = unrounded_pool(int(asked), self.expected)
        while size > most and asked > MIB:
            asked *= _STEP
            size = unrounded_pool(int(asked), self.expected)
        return size

    def largest_pool(self) -> float:
        """Bytes that the gate leaves for a pool beside the connections and the log buffer."""
        budget = self.situation.host.memory_budget_bytes
        most = self.situation.resources.memory_bytes * _MAX_POOL
        return most if budget is None else min(most, largest_pool(self.expected, budget))

    def set_redo(self, wanted: float, reason: str, source: str) -> None:
        """Size the redo log, all its files together, under the names that the server has for it.

        It stays within the free space and, unless a longer recovery is allowed, below its cost.
        Where these leave less than the server's default, that stays.
        """
        free, limit = self.situation.device.free_bytes, float(_MAX_REDO)
        if free is not None:
            limit = min(limit, free / _MAX_PART_OF_FREE)
        if limit < wanted:
            reason += f"; limited to {human_bytes(int(limit))} by the free space"
        if CostKind.RECOVERY_TIME not in self.situation.allowed and free_redo_bytes() < min(
            wanted, limit
        ):
            limit = float(free_redo_bytes())
            reason += f"; limited to {human_bytes(int(limit))}, because more costs recovery-time"
        size = int(min(wanted, limit))
        unit = 2 * MIB if size < GIB else 256 * MIB
        size = max(size // unit * unit, _MIN_REDO)
        target = self.situation.target
        if limit < wanted and size < (Expected({}, target).redo() or 0):
            return  # what the server has by itself is more
        for name, value in redo_settings(size, target).items():
            self.set(name, value, reason, source)

    def worth_saying(self) -> list[str]:
        """Return the variables whose values differ from what the server has by itself."""
        found, target = [], self.situation.target
        for name, value in self.knobs.items():
            others = {other: self.knobs[other] for other in self.knobs if other != name}
            before = by_itself(name, Expected(others, target, self.situation.host))
            if before is None or not same(before, value):
                found.append(name)
        return found
