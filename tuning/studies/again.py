"""The request that asks for the same study once more, from the rows of one that was made."""

from __future__ import annotations

from pathlib import Path

from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.configs.knobs import render_cnf
from tuning.models import Candidate, Study
from tuning.results.evidence import traits_of
from tuning.scale_model.model import ScaleModel
from tuning.statistics.aim import Aim
from tuning.studies.named_devices import request_for
from tuning.studies.request import SearchRequest, StudyRequest


def request_again(study: Study) -> StudyRequest:
    """With the same host, server program, devices, sizes, files and search, and a new seed; of a
    study that was extended with its first blocks.

    Files are written anew from the values that were measured, which are those for its server; of
    a scale model from those for the real server.

    Raises DeviceUnusable where another device is in the place of one of its devices now.
    """
    workloads = sorted(study.workloads.all(), key=lambda w: w.connections)
    first = workloads[0]
    model = ScaleModel(**study.scale_model) if study.scale_model else None
    return StudyRequest(
        template=study.template,
        name=study.name,
        host=study.host.name,
        # A scale model finds the limits of its devices anew.
        devices=[request_for(one) for one in study.devices.select_related("host").order_by("pk")],
        server=Path(study.server.path),
        driver=first.driver,
        load_hosts=tuple(host.name for host in first.load_hosts_in_order),
        configs=[(one.name, my_cnf_of(one)) for one in own_files(study)],
        warehouses=first.warehouses,
        connections=[one.connections for one in workloads],
        warmup_s=first.warmup_s,
        measure_s=first.measure_s,
        blocks=study.first_blocks if study.search is None else None,
        durability=Durability(study.durability),
        keeps_duplicates=study.keeps_duplicates and study.search is None,
        races=study.races if study.search is None else None,
        confirms=study.confirms if study.search is None else None,
        takes_apart=study.takes_apart and study.confirms,
        budget_minutes=study.budget_minutes,
        allow=frozenset(CostKind(one) for one in study.allowed_costs),
        recovery=study.crash_tests,
        search=search_again(study),
        data_size=model.data_bytes if model else None,
        memory=model.memory_bytes if model else None,
    )


def own_files(study: Study) -> list[Candidate]:
    """The candidates that came with the request as files."""
    found = study.candidates.filter(found_by_search=False, taken_from=None)
    return [one for one in found.select_related("config") if one.lines]


def my_cnf_of(candidate: Candidate) -> bytes:
    """The values of an own file as a file; not those that it has in a scale model."""
    knobs: dict[str, str] = candidate.config.knobs
    if candidate.study.scale_model is not None:
        knobs = {name: value for line in candidate.lines for name, value in line["became"]}
    target = traits_of(candidate.measured_on)
    return render_cnf(dict(sorted(knobs.items())), target).encode()


def search_again(study: Study) -> SearchRequest | None:
    """Its objective and limits, and the knobs and bounds that were asked for."""
    if study.search is None:
        return None
    asked = study.search.get("asked", {})
    knobs = asked.get("knobs")
    return SearchRequest(
        knobs=tuple(knobs) if isinstance(knobs, list) else knobs,
        free=tuple(asked.get("free", ())),
        pinned=asked.get("pinned", {}),
        bounds={name: tuple(bounds) for name, bounds in asked.get("bounds", {}).items()},
        aim=Aim.from_json(study.search),
        warm_start=asked.get("warm_start", True),
    )
