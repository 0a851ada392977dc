"""Sizes a config for the host, with figures that the server does not round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.counted import counted, percent
from tuning.catalogue.resources import HostResources, Resource
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import DEFAULT_CHUNK, GIB, MIB, Expected
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.variables import CAPACITY, CHUNK, CLEANERS, INSTANCES, POOL
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import Preset
from tuning.configs.presets.scaling import Scaling
from tuning.configs.translation.redo import translate_redo
from tuning.configs.values import paper_number, readable

# InnoDB starts with 5 MiB, but fails when locks fill a large part of such a small pool.
MIN_POOL = 16 * MIB


@dataclass(frozen=True)
class Scaled:
    """Normalised knobs and a note per knob that was changed."""

    knobs: dict[str, str]
    notes: tuple[Note, ...]


def scale(
    knobs: Mapping[str, str],
    preset: Preset,
    target: ServerTraits,
    resources: HostResources,
    pool_chunk_bytes: int | None = None,
) -> Scaled:
    """Scale each knob as the preset declares: with data, memory or CPUs, or not at all.

    `knobs` are the translated ones of `preset`, which is the one for the target
    (`Preset.for_server`). The server does not need to round the resulting sizes; its pool grows in
    chunks of `pool_chunk_bytes`, None for its default.
    """
    found = dict(knobs)
    host = HostFacts(logical_cpus=resources.logical_cpus, pool_chunk_bytes=pool_chunk_bytes)
    notes: list[Note] = list(preset.adaptations)
    for name, rule in preset.scaling.items():
        if rule.of is None:
            continue
        published = paper_number(preset.knobs[name])
        wanted = rule.figure(published, preset.data_bytes, resources)
        if wanted is None:
            continue
        if name == CAPACITY:
            notes.append(_size_redo(found, wanted, target, resources))
        elif name in found:
            value = wanted
            if name == POOL:
                value = unrounded_pool(wanted, Expected(found, target, host))
            found[name] = f"{value}"
            notes.append(Note(name, Action.ADJUSTED, _said(rule, preset, value, resources)))
    if not target.mariadb and POOL in found:
        notes += _fit_instances(found, Expected(found, target, host))
    return Scaled(found, tuple(notes))


def _size_redo(
    knobs: dict[str, str], wanted: int, target: ServerTraits, resources: HostResources
) -> Note:
    """Set the size of the redo log in bytes, with the target's names for it."""
    total = _nearest(wanted, 2 * MIB)  # whole MiB for each of two files
    moved = translate_redo({CAPACITY: f"{total}"}, target, target, int).get(CAPACITY)
    for name, value in moved.became if moved else ((CAPACITY, f"{total}"),):
        knobs[name] = value
    last = moved.became[0][0] if moved else CAPACITY
    detail = f"{readable(total)} of redo log for {counted(resources.logical_cpus, 'CPU')}"
    return Note(last, Action.ADJUSTED, detail)


def unrounded_pool(wanted: int, expected: Expected) -> int:
    """The size in bytes nearest to `wanted` that the server does not change with these knobs."""

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


def _nearest(size: int, unit: int) -> int:
    return (size + unit // 2) // unit * unit


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


def _said(rule: Scaling, preset: Preset, value: int, resources: HostResources) -> str:
    published = paper_number(preset.knobs[rule.knob])
    if rule.of is Resource.DATA and rule.steps:
        data = resources.data_bytes
        return f"{value // MIB}M for {data // MIB} MiB of data ({percent(value / data)})"
    if rule.of is Resource.DATA:
        assumed, data = preset.data_bytes or 1, resources.data_bytes
        return (
            f"{published // GIB}G for {assumed // GIB} GiB of data "
            f"({percent(published / assumed)}) becomes {value // MIB}M for {data // MIB} MiB "
            f"({percent(value / data)})"
        )
    if rule.of is Resource.MEMORY:
        memory = resources.memory_bytes
        return f"{value // MIB}M for {memory // MIB} MiB of memory ({percent(value / memory)})"
    return f"{readable(value)} for {counted(resources.logical_cpus, 'CPU')}"
