"""What becomes of one setting on its way to a server, whether a preset's or a user's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import ServerTraits
from tuning.configs.notes import Action


class AnyVersion(StrEnum):
    """Stands in for the server a file was written for when nobody knows: any older one."""

    ANY = "any"


ANY_VERSION = AnyVersion.ANY
Origin = ServerTraits | AnyVersion

#: One release of every series in scope, to ask whether a value was ever known anywhere.
RELEASES = tuple(
    ServerTraits(flavour, version)
    for flavour, versions in {
        Flavour.MYSQL: ((5, 7, 44), (8, 0, 19), (8, 0, 46), (8, 4, 13), (9, 7, 4)),
        Flavour.PERCONA: ((5, 7, 44), (8, 0, 36), (8, 4, 5)),
        Flavour.MARIADB: ((10, 6, 20), (10, 11, 19), (11, 4, 9), (11, 8, 9)),
    }.items()
    for version in versions
)


@dataclass(frozen=True)
class SettingOutcome:
    """The normalised knobs that come of a setting, and in words why they differ from it."""

    action: Action
    became: tuple[tuple[str, str], ...] = ()
    detail: str = ""

    @classmethod
    def kept(cls, name: str, value: str) -> SettingOutcome:
        """Taken as it is, in the server's form."""
        return cls(Action.KEPT, ((name, value),))

    @classmethod
    def dropped(cls, detail: str) -> SettingOutcome:
        """Left out."""
        return cls(Action.DROPPED, (), detail)

    @classmethod
    def held(cls, detail: str) -> SettingOutcome:
        """Left at the server's default, because a preset cannot be corrected."""
        return cls(Action.HELD, (), detail)

    def renamed(self, detail: str) -> SettingOutcome:
        """The same, told as another name; what is left out stays so."""
        return SettingOutcome(Action.RENAMED, self.became, detail) if self.became else self

    def in_future(self) -> str:
        """ "would ..." for a message: what translation would do."""
        values = ", ".join(f"{name} = {value}" for name, value in self.became)
        if self.action is Action.RENAMED and values:
            return f"would make it {values}"
        if self.action is Action.RENAMED:
            return "would count it in what takes its place"
        if self.action is Action.ADJUSTED and values:
            return f"would make it {self.became[-1][1]}"
        return "would drop it"


def releases(origin: Origin) -> tuple[ServerTraits, ...]:
    """The servers that a file may have been written for."""
    return (origin,) if isinstance(origin, ServerTraits) else RELEASES
