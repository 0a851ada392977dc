"""Sizes a config to the host at hand, to figures that the server takes without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Of
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.variables import CAPACITY
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import Preset
from tuning.configs.presets.scaling import Scaling
from tuning.configs.translation.redo import translate_redo
from tuning.configs.values import paper_number, readable

MIB = 1024**2
CHUNK = 128 * MIB  # innodb_buffer_pool_chunk_size, which no preset sets
ONE_INSTANCE_BELOW = 1024 * MIB
# InnoDB starts with 5 MiB, but gives up when locks fill much of a pool that is about as small.
SMALLEST_POOL = 16 * MIB
_POOL = "innodb_buffer_pool_size"
_INSTANCES = "innodb_buffer_pool_instances"
_CLEANERS = "innodb_page_cleaners"


@dataclass(frozen=True)
class Scaled:
    """Normalised knobs and a note per knob that was changed."""

    knobs: dict[str, str]
    notes: tuple[Note, ...]


def scale(
    knobs: Mapping[str, str], preset: Preset, target: ServerTraits, resources: HostResources
) -> Scaled:
    """Size each knob as the preset declares it: with data, memory or CPUs, or not at all.

    `knobs` are the translated ones of `preset`, which is the one for the target
    (`Preset.for_server`). Sizes are such that the server has nothing left to round.
    """
    found = dict(knobs)
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
            if name == _POOL:
                value = round_pool(wanted, target, int(found.get(_INSTANCES, "1")))
            found[name] = f"{value}"
            notes.append(Note(name, Action.ADJUSTED, _said(rule, preset, value, resources)))
    if not target.mariadb and _POOL in found:
        notes += _fit_instances(found)
    return Scaled(found, tuple(notes))


def _size_redo(
    knobs: dict[str, str], wanted: int, target: ServerTraits, resources: HostResources
) -> Note:
    """Set the redo log's size in bytes under the names that the target has for it."""
    total = _nearest(wanted, 2 * MIB)  # whole MiB for each of two files
    moved = translate_redo({CAPACITY: f"{total}"}, target, target, int).get(CAPACITY)
    for name, value in moved.became if moved else ((CAPACITY, f"{total}"),):
        knobs[name] = value
    last = moved.became[0][0] if moved else CAPACITY
    detail = f"{readable(total)} of redo log for {resources.logical_cpus} CPUs"
    return Note(last, Action.ADJUSTED, detail)


def round_pool(wanted: int, target: ServerTraits, instances: int) -> int:
    """The size in bytes nearest to `wanted` that the target does not round itself."""
    size = max(wanted, SMALLEST_POOL)
    if target.mariadb:
        # From 10.8 on the chunk follows the pool; before, it is fixed unless the pool is smaller.
        return _nearest(size, CHUNK if _has_fixed_chunk(target) and size > CHUNK else MIB)
    fits = [fit for fit in _around(size, CHUNK) if instances == 1 or fit < ONE_INSTANCE_BELOW]
    if size <= CHUNK:  # a pool below one chunk is one chunk, in whole MiB
        fits.append(_nearest(size, MIB))
    if instances > 1:
        # From 1 GiB on the pool is split; where a part is below a chunk, the part is the chunk.
        whole = instances * CHUNK
        split = [fit for fit in _around(size, instances * MIB) if fit <= whole]
        fits += [fit for fit in (*split, *_around(size, whole)) if fit >= ONE_INSTANCE_BELOW]
    return min(fits, key=lambda fit: abs(fit - size))


def _has_fixed_chunk(target: ServerTraits) -> bool:
    return load_catalogue().knobs["innodb_buffer_pool_chunk_size"].default(target) == f"{CHUNK}"


def _around(size: int, unit: int) -> list[int]:
    """The multiples of `unit` next to `size`, also seen from the limit of one instance."""
    near = (size, min(size, ONE_INSTANCE_BELOW - 1), max(size, ONE_INSTANCE_BELOW))
    found = [value // unit * unit for value in near] + [-(-value // unit) * unit for value in near]
    return [value for value in found if value]


def _nearest(size: int, unit: int) -> int:
    return (size + unit // 2) // unit * unit


def _fit_instances(knobs: dict[str, str]) -> list[Note]:
    """Below 1 GiB the server uses one instance, and never more cleaners than instances."""
    notes: list[Note] = []
    if int(knobs[_POOL]) < ONE_INSTANCE_BELOW and int(knobs.get(_INSTANCES, "1")) > 1:
        detail = f"{knobs[_INSTANCES]} become 1: the server uses one below 1 GiB of buffer pool"
        notes.append(Note(_INSTANCES, Action.ADJUSTED, detail))
        knobs[_INSTANCES] = "1"
    if _INSTANCES in knobs and int(knobs.get(_CLEANERS, "1")) > int(knobs[_INSTANCES]):
        detail = f"{knobs[_CLEANERS]} become {knobs[_INSTANCES]}: at most one per pool instance"
        notes.append(Note(_CLEANERS, Action.ADJUSTED, detail))
        knobs[_CLEANERS] = knobs[_INSTANCES]
    return notes


def _said(rule: Scaling, preset: Preset, value: int, resources: HostResources) -> str:
    published = paper_number(preset.knobs[rule.knob])
    if rule.of is Of.DATA and rule.steps:
        data = resources.data_bytes
        return f"{value // MIB}M for {data // MIB}M of data ({value / data:.0%})"
    if rule.of is Of.DATA:
        assumed, data_bytes = preset.data_bytes or 1, resources.data_bytes
        return (
            f"{published // 1024**3}G for {assumed // 1024**3}G of data "
            f"({published / assumed:.0%}) becomes {value // MIB}M for {data_bytes // MIB}M "
            f"({value / data_bytes:.0%})"
        )
    if rule.of is Of.MEMORY:
        memory = resources.memory_bytes
        return f"{value // MIB}M for {memory // MIB}M of memory ({value / memory:.0%})"
    return f"{readable(value)} for {resources.logical_cpus} CPUs"
