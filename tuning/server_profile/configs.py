"""Configs for a profiled server: the one that it runs with, and proposals for it.

Each proposal has the figure that meets its condition. Values are those of the real server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Named, read_data_file
from tuning.catalogue.facts import Name
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import Expected, by_itself
from tuning.configs.price import free_redo_bytes
from tuning.configs.values import same
from tuning.configs.variables import (
    CHUNK,
    FLUSH_METHOD,
    MAX_CONNECTIONS,
    POOL,
    redo_settings,
)
from tuning.proposals.rules import Expression, UnknownFact, evaluate, filled
from tuning.server_profile.figures import figures_of
from tuning.server_profile.profile import Profile

_FILE = Path(__file__).resolve().parent / "rules.yaml"
#: The name of all proposals together.
ALL = "profile-all"


@plain_dataclass(frozen=True)
class Proposal:
    """One change of a server's config. `why`: the figure that met the condition."""

    name: str
    changes: Mapping[str, str]
    why: str


@dataclass(frozen=True, config=STRICT)
class _Rule:
    name: str
    when: Expression
    set: Frozen[Name, Expression]
    because: str
    value: Expression = "0"

    def proposal(self, profile: Profile, facts: Mapping[str, Any]) -> Proposal | None:
        try:
            known = {**facts, "value": evaluate(self.value, facts.get)}
            if not evaluate(self.when, known.get):
                return None
            changes: dict[str, str] = {}
            for name, text in self.set.items():
                if name == "redo_log":
                    changes |= redo_settings(int(evaluate(text, known.get)), profile.target)
                elif load_catalogue().knobs[name].kind is Kind.ENUM:
                    changes[name] = text
                else:
                    changes[name] = f"{int(evaluate(text, known.get))}"
            return Proposal(self.name, changes, filled(self.because, known.get))
        except UnknownFact:
            return None


@dataclass(frozen=True, config=STRICT)
class _Rules:
    rules: Named[str, _Rule] = Field(min_length=1)


@cache
def _rules() -> Mapping[str, _Rule]:
    return read_data_file(_FILE, _Rules).rules


def proposals_for(profile: Profile) -> list[Proposal]:
    """Return the proposals whose conditions the profile meets, and all of them together."""
    numbers = {name: profile.number(name) for name in profile.variables}
    figures = {one.name: one.value for one in figures_of(profile)}
    # MySQL 5.7 shows nothing for its default, which is fsync.
    reads_twice = profile.variables.get(FLUSH_METHOD) in ("fsync", "")
    facts = {**numbers, **figures, "free_redo": free_redo_bytes(), "page_cache": reads_twice}
    found: list[Proposal] = []
    for rule in _rules().values():
        one = rule.proposal(profile, facts)
        if one is not None and one.changes not in [other.changes for other in found]:
            found.append(one)
    if len(found) < 2:
        return found
    changes = {name: value for one in found for name, value in one.changes.items()}
    return [*found, Proposal(ALL, changes, f"all {len(found)} changes together")]


def own_knobs(profile: Profile) -> dict[str, str]:
    """Return the tuning variables that differ from what the server would have by itself."""
    read = {name: value for name, value in profile.knobs.items() if name != CHUNK}
    return {name: value for name, value in read.items() if _is_set(name, value, read, profile)}


def as_cnf(knobs: Mapping[str, str]) -> str:
    """Return the knobs as a my.cnf."""
    lines = [name if not value else f"{name} = {value}" for name, value in knobs.items()]
    return "\n".join(["[mysqld]", *lines]) + "\n"


def _is_set(name: str, value: str, read: Mapping[str, str], profile: Profile) -> bool:
    if name == POOL:
        return True  # a default too is resized to the scale model
    others = {other: text for other, text in read.items() if other != name}
    default = by_itself(name, Expected(others, profile.target))
    if default is None:
        # Computed from the host: left to the server that is measured.
        return name == MAX_CONNECTIONS
    return not same(default, value)
