"""The result of translating one setting of a preset or of a user."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.configs.notes import Action


@dataclass(frozen=True)
class SettingOutcome:
    """The normalised knobs that result from a setting, and the reason why they differ from it."""

    action: Action
    became: tuple[tuple[str, str], ...] = ()
    detail: str = ""

    @classmethod
    def kept(cls, name: str, value: str) -> SettingOutcome:
        """Used unchanged, in the server's form."""
        return cls(Action.KEPT, ((name, value),))

    @classmethod
    def dropped(cls, detail: str) -> SettingOutcome:
        """Left out."""
        return cls(Action.DROPPED, (), detail)

    @classmethod
    def held(cls, detail: str) -> SettingOutcome:
        """Left at the server's default, because a user cannot correct a preset."""
        return cls(Action.HELD, (), detail)

    def renamed(self, detail: str) -> SettingOutcome:
        """Return this result, reported as renamed; a dropped setting stays dropped."""
        return SettingOutcome(Action.RENAMED, self.became, detail) if self.became else self
