"""Rules across knobs that the server would otherwise settle in silence, its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tuning.configs.target import ServerTraits

Broken = tuple[str, str]


def broken_rules(knobs: Mapping[str, str], target: ServerTraits) -> list[Broken]:
    """(name, reason) of every rule that these normalised knobs break."""
    return [found for rule in RULES if (found := rule(knobs, target)) is not None]


def _io_capacity(knobs: Mapping[str, str], _target: ServerTraits) -> Broken | None:
    capacity, ceiling = knobs.get("innodb_io_capacity"), knobs.get("innodb_io_capacity_max")
    if capacity and ceiling and int(capacity) > int(ceiling):
        return (
            "innodb_io_capacity_max",
            f"{ceiling} is below innodb_io_capacity = {capacity}, which the server would lower",
        )
    return None


def _dirty_pages(knobs: Mapping[str, str], _target: ServerTraits) -> Broken | None:
    low, high = (
        knobs.get("innodb_max_dirty_pages_pct_lwm"),
        knobs.get("innodb_max_dirty_pages_pct"),
    )
    if low and high and float(low) > float(high):
        return (
            "innodb_max_dirty_pages_pct_lwm",
            f"{low} is above innodb_max_dirty_pages_pct = {high}; the server would lower it",
        )
    return None


def _two_redo_sizes(knobs: Mapping[str, str], _target: ServerTraits) -> Broken | None:
    if "innodb_redo_log_capacity" not in knobs:
        return None
    for name in ("innodb_log_file_size", "innodb_log_files_in_group"):
        if name in knobs:
            return name, "has no effect beside innodb_redo_log_capacity; keep one of the two"
    return None


def _gtid(knobs: Mapping[str, str], target: ServerTraits) -> Broken | None:
    consistency = knobs.get("enforce_gtid_consistency")
    if consistency is None and target.version >= (9, 7, 0):
        consistency = "ON"  # its default there
    if knobs.get("gtid_mode") == "ON" and consistency != "ON":
        return "gtid_mode", "ON needs enforce_gtid_consistency = ON, or the server does not start"
    return None


Rule = Callable[[Mapping[str, str], ServerTraits], Broken | None]
RULES: tuple[Rule, ...] = (_io_capacity, _dirty_pages, _two_redo_sizes, _gtid)
