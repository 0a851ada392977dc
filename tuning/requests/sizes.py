"""The sizes of a study: what was requested, else what its template says."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.requests.study import StudyRequest
from tuning.study_templates.loader import StudyTemplate


@dataclass(frozen=True)
class Sizes:
    """The sizes of a study; seconds are those of one run."""

    warehouses: int
    connections: tuple[int, ...]
    warmup_s: int
    measure_s: int
    blocks: int


def sizes_of(request: StudyRequest, template: StudyTemplate, logical_cpus: int) -> Sizes:
    """The requested sizes, else the template's, which may scale connections to the host's CPUs."""
    connections = request.connections
    return Sizes(
        warehouses=_or(request.warehouses, template.warehouses),
        connections=tuple(connections or template.connections_on(logical_cpus)),
        warmup_s=_or(request.warmup_s, template.warmup_s),
        measure_s=_or(request.measure_s, template.measure_s),
        blocks=_or(request.blocks, template.blocks),
    )


def _or(requested: int | None, otherwise: int) -> int:
    return otherwise if requested is None else requested
