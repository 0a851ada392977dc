"""What a rule is, and those of one line."""

from __future__ import annotations

from collections.abc import Callable

from tuning.proposals.draft import Draft

#: A rule sets what it advises in a draft, or nothing where it has nothing to say.
Rule = Callable[[Draft], None]
When = Callable[[Draft], bool]


def _always(_: Draft) -> bool:
    return True


def fixed(name: str, value: float | str, reason: str, source: str, when: When = _always) -> Rule:
    """A value that is the same on every host where `when` holds."""

    def rule(draft: Draft) -> None:
        if when(draft):
            draft.set(name, value, reason, source)

    return rule


def on_ssd(draft: Draft) -> bool:
    """Whether the device is known to have no moving parts."""
    return draft.situation.device.is_ssd


def on_disk(draft: Draft) -> bool:
    """Whether the device is known to turn."""
    return draft.situation.device.is_disk


def on_mysql_before(*version: int) -> When:
    """Whether it is a MySQL or Percona Server older than that."""

    def when(draft: Draft) -> bool:
        target = draft.situation.target
        return not target.mariadb and target.version < version

    return when


def holds_data(draft: Draft) -> bool:
    """Whether the buffer pool is as large as the data."""
    return draft.pool_bytes >= draft.situation.resources.data_bytes
