"""Facts that hold from a version on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from tuning.catalogue.target import Version

T = TypeVar("T")


class Timeline(Generic[T]):
    """Values by the version from which each holds."""

    def __init__(self, entries: Iterable[tuple[Version, T]] = ()) -> None:
        self._entries = tuple(sorted(entries, key=lambda entry: entry[0]))

    def at(self, version: Version) -> T | None:
        """The value at `version`; before the first entry the first one, without any None."""
        found: T | None = self._entries[0][1] if self._entries else None
        for since, value in self._entries:
            if since <= version:
                found = value
        return found

    def __iter__(self) -> Iterator[tuple[Version, T]]:
        return iter(self._entries)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timeline) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(self._entries)


def reached(version: Version, releases: tuple[Version, ...]) -> bool:
    """Whether `version` has what first came with one of `releases`.

    A change that went into several branches names the first release of each: 10.11.12 and
    11.4.6 mean that 11.2.9 does not have it, though it is the higher number.
    """
    return any(version[:2] == release[:2] and version >= release for release in releases) or bool(
        releases and version >= max(releases)
    )
