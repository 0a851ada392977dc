"""What becomes of one setting on its way to a server, whether a preset's or a user's."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.configs.notes import Action


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
