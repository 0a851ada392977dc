"""Sizes a config for the host, with figures that the server does not round."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.counted import counted, percent
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Amount, HostResources, Resource
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import (
    DEFAULT_CHUNK,
    GIB,
    MIB,
    Expected,
    HostFacts,
    dedicated_pool,
    dedicated_redo,
)
from tuning.configs.effective.variables import (
    CHUNK,
    CLEANERS,
    DEDICATED,
    INSTANCES,
    POOL,
    redo_settings,
)
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import Preset
from tuning.configs.values import readable

# InnoDB starts with 5 MiB, but fails when locks fill a large part of such a small pool.
MIN_POOL = 16 * MIB


def scale(
    knobs: Mapping[str, str],
    preset: Preset,
    target: ServerTraits,
    resources: HostResources,
    pool_chunk_bytes: int | None = None,
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """Return the knobs sized for the host, and a note per knob that was changed.

    `knobs` are those of `preset`, translated for the target. The server does not need to round the
    resulting sizes; its pool grows in chunks of `pool_chunk_bytes`, None for its default.
    """
    found = dict(knobs)
    host = HostFacts(logical_cpus=resources.logical_cpus, pool_chunk_bytes=pool_chunk_bytes)
    notes: list[Note] = []
    if DEDICATED in preset.knobs and not load_catalogue().knobs[DEDICATED].exists_in(target):
        notes += _size_as_dedicated(found, Expected(found, target, host), resources)
    for name, amount in preset.sized.items():
        if name in found:
            value = int(amount.figure(resources))
            if name == POOL:
                value = unrounded_pool(value, Expected(found, target, host))
            found[name] = f"{value}"
            notes.append(Note(name, Action.ADJUSTED, _said(amount, value, resources)))
    if not target.mariadb and POOL in found:
        notes += _fit_instances(found, Expected(found, target, host))
    return found, tuple(notes)


def _size_as_dedicated(
    knobs: dict[str, str], expected: Expected, resources: HostResources
) -> list[Note]:
    """Set the sizes that MySQL 8.4 gives itself with innodb_dedicated_server."""
    memory, cpus = resources.memory_bytes, resources.logical_cpus
    pool = unrounded_pool(dedicated_pool(memory), expected)
    redo = dedicated_redo(cpus)
    names = redo_settings(redo, expected.target)
    knobs |= {POOL: f"{pool}", **names}
    why = "a rule of MySQL 8.4 that this server does not have, so its sizes are set explicitly"
    of_memory = f"{pool // MIB}M for {memory // MIB} MiB of memory ({percent(pool / memory)})"
    of_cpus = f"{readable(redo)} of redo log for {counted(cpus, 'CPU')}"
    return [
        Note(DEDICATED, Action.ADJUSTED, why),
        Note(POOL, Action.ADJUSTED, of_memory),
        Note(next(iter(names)), Action.ADJUSTED, of_cpus),
    ]


def unrounded_pool(wanted: int, expected: Expected) -> int:
    """Return the size in bytes nearest to `wanted` that the server does not change."""

    def is_kept(size: int) -> bool:
        knobs = {**expected.knobs, POOL: f"{size}"}
        return Expected(knobs, expected.target, expected.host).pool() == size

    size = max(wanted, MIN_POOL)
    chunk = expected.whole(CHUNK) or DEFAULT_CHUNK
    near: set[int] = set()
    # Candidates around the limit of one instance as well, where the steps change.
    for value in (size, min(size, GIB - 1), max(size, GIB)):
        parts = expected.instances(value) or 1
        for step in (parts * MIB, parts * chunk):
            near |= {value // step * step, -(-value // step) * step}
    return min(filter(is_kept, sorted(near - {0})), key=lambda fit: abs(fit - size))


def _fit_instances(knobs: dict[str, str], expected: Expected) -> list[Note]:
    """Below 1 GiB the server uses one instance, and never more cleaners than instances."""
    notes: list[Note] = []
    asked, instances = knobs.get(INSTANCES), expected.instances(int(knobs[POOL]))
    if asked is None or instances is None:
        return notes
    if int(asked) > instances:
        knobs[INSTANCES] = f"{instances}"
        detail = f"{asked} become 1: the server uses one below 1 GiB of buffer pool"
        notes.append(Note(INSTANCES, Action.ADJUSTED, detail))
    if int(knobs.get(CLEANERS, "1")) > instances:
        detail = f"{knobs[CLEANERS]} become {instances}: at most one per pool instance"
        notes.append(Note(CLEANERS, Action.ADJUSTED, detail))
        knobs[CLEANERS] = f"{instances}"
    return notes


def _said(amount: Amount, value: int, resources: HostResources) -> str:
    if amount.of in (None, Resource.CORES):
        return f"{amount.text}: {readable(value)} for {counted(resources.logical_cpus, 'CPU')}"
    whole = resources.amount(amount.of)
    share = percent(value / whole)
    return f"{amount.text}: {value // MIB}M for {whole // MIB} MiB of {amount.of} ({share})"
