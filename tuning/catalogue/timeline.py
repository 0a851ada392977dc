"""Facts that hold from a version on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import dict_schema, no_info_after_validator_function, str_schema

from tuning.catalogue.target import Version, read_release

T = TypeVar("T")


class Timeline(Generic[T]):
    """Values by the version from which each holds, in order; in a file {"5.7": 200, ...}."""

    def __init__(self, entries: Iterable[tuple[Version, T]] = ()) -> None:
        self._entries = tuple(entries)
        versions = [version for version, _ in self._entries]
        if versions != sorted(set(versions)):
            raise ValueError("versions must be in ascending order, each of them once")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, timeline: type[Timeline[T]], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        (value,) = get_args(timeline)
        by_release = dict_schema(str_schema(), handler.generate_schema(value), min_length=1)

        def in_order(written: Mapping[str, T]) -> Timeline[T]:
            return cls((read_release(since), value) for since, value in written.items())

        return no_info_after_validator_function(in_order, by_release)

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


def reached(version: Version, releases: tuple[Version, ...]) -> bool:
    """Whether `version` has a change that was introduced in `releases`.

    A change in several branches names the first release of each: 10.11.12 and 11.4.6 mean that
    11.2.9 does not have it, although the number is higher.
    """
    return any(version[:2] == release[:2] and version >= release for release in releases) or bool(
        releases and version >= max(releases)
    )
