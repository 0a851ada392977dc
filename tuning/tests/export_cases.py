"""Facts and helpers that the tests of the export share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from benchmarks.drivers.workloads import TPCC
from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_preset
from tuning.configs.check import check_knobs
from tuning.configs.line import Note
from tuning.configs.parse import decode_cnf, scan_cnf, server_group
from tuning.configs.situation import Situation
from tuning.export.facts import ExportFacts
from tuning.export.formats import ExportRequest, export
from tuning.models import Study
from tuning.recommendations import StudyFiles
from tuning.results.build import build
from tuning.results.document import (
    Ablation,
    Board,
    BoardRow,
    CandidateFacts,
    DeviceFacts,
    Figures,
    LinesEffect,
    Part,
    Ranking,
    Recommendation,
    Standing,
    StudyDocument,
    StudyFacts,
    WorkloadFacts,
)
from tuning.results.study_rows import StudyRows
from tuning.scale_model.model import ScaleModel
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MYSQL_8 = ServerTraits(Flavour.MYSQL, (8, 0, 36))
MYSQL_57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
HOST = HostResources(memory_bytes=8 * 1024**3, logical_cpus=8, data_bytes=1024**3)
P = TypeVar("P", bound=Part)
KNOBS = {"innodb_io_capacity": "2000", "innodb_flush_method": "O_DIRECT"}
EFFECT = Estimate(ratio=1.4236)


def facts(
    *,
    study: str = "what is best here",
    server: ServerTraits = MYSQL,
    candidate: str = "mine",
    baseline: str = "server-default",
    knobs: Mapping[str, str] = KNOBS,
    baseline_knobs: Mapping[str, str] = {},
    notes: Sequence[Note] = (),
    model: ScaleModel | None = None,
    ablation: Sequence[LinesEffect] = (),
    winner_knobs: Mapping[str, str] = {},
    effect: Estimate = EFFECT,
    p95_ms: float | None = 7.77,
    workload: str = TPCC,
    device: Mapping[str, Any] = {},
    **others: Any,
) -> ExportFacts:
    """Return the facts of a recommendation; others: fields of ExportFacts."""
    candidates = [_candidate(1, baseline, baseline_knobs), _candidate(2, candidate, knobs, notes)]
    candidates.append(_candidate(3, "whole", winner_knobs))
    found = Recommendation(
        id=1,
        candidate_id=1 if candidate == baseline else 2,
        whole_id=3 if ablation else None,
        kind="winner",
        effect=effect,
        objective=Metric.THROUGHPUT,
        objective_effect=None,
        noise_floor=None,
        confirmation="",
        sentence="It is faster.",
    )
    document = _made(
        StudyDocument,
        study=_made(
            StudyFacts,
            id=3,
            name=study,
            template="first-answer",
            flavour=server.flavour,
            server_version=".".join(map(str, server.version)),
            finished_at=datetime(2026, 11, 21, tzinfo=UTC),
            scale_model=model.as_json() if model else None,
            memory_bytes=None,
            confirms=False,
        ),
        devices=(_made(DeviceFacts, **{**DEVICE, **device}),),
        workloads=(
            _made(
                WorkloadFacts,
                id=1,
                name="tpcc-mysql, 10 warehouses, 8 connections, 5 s warm-up, 12 s measured",
                kind=workload,
                data_bytes=1024**3,
            ),
        ),
        candidates=tuple(candidates),
        runs=(),
    )
    ranking = _made(Ranking, metric=Metric.THROUGHPUT, standings=tuple(map(_standing, (1, 2))))
    board = _made(
        Board,
        device_id=1,
        workload_id=1,
        durability="D0",
        proportion=model.sentence if model else "",
        baseline_id=1,
        rows=(_row(1, 12.5), _row(2, p95_ms)),
        rankings={Metric.THROUGHPUT: ranking},
        advice=ranking,
        confirmations=(),
        debtors=(),
        crash_tests=(),
        ablation=_made(Ablation, whole_id=3, effects=tuple(ablation), reduced=None)
        if ablation
        else None,
        recommendation=found,
    )
    url = "http://127.0.0.1:8000/studies/3/"
    return ExportFacts(document, board, found, **{"study_url": url, **others})


DEVICE = {
    "id": 1,
    "name": "NVMe at /srv/data",
    "kind": "nvme",
    "what": "NVMe",
    "model": "",
    "block_device": "nvme0n1",
    "file_system": "ext4",
    "data_dir": "/srv/data",
    "log_dir": "",
    "emulation_text": "",
    "emulation_label": "",
    "is_throttled": False,
    "memory_limit_bytes": None,
}


def _made(kind: type[P], /, **values: Any) -> P:
    """Return a part of a document that has only these fields."""
    found: Any = kind
    part: P = found.model_construct(**values)
    return part


def _candidate(
    pk: int, name: str, knobs: Mapping[str, str], notes: Sequence[Note] = ()
) -> CandidateFacts:
    return _made(
        CandidateFacts,
        id=pk,
        name=name,
        knobs=dict(knobs),
        notes=tuple({**vars(note), "action": str(note.action)} for note in notes),
        logs_with_data=False,
    )


def _standing(pk: int) -> Standing:
    return _made(Standing, candidate_id=pk, blocks=3, tied_with=(), better=False)


def _row(pk: int, p95_ms: float | None) -> BoardRow:
    return _made(BoardRow, candidate_id=pk, figures=Figures(p95_ms=p95_ms), limit="")


FACTS = facts()


def preset_facts(name: str, target: ServerTraits, **changes: Any) -> ExportFacts:
    """Return the facts of a preset that was planned for the target."""
    planned = plan_preset(name, Situation(target, HOST))
    return facts(
        server=target, candidate=name, knobs=planned.knobs, notes=planned.notes, **changes
    )


def knobs_in(text: str | bytes, target: ServerTraits = MYSQL) -> Mapping[str, str]:
    """What a my.cnf sets, through the gate."""
    data = text if isinstance(text, bytes) else text.encode()
    knobs = settings_in(data, target)
    return check_knobs(knobs, target, source="export").accepted().knobs


def settings_in(data: bytes, target: ServerTraits) -> dict[str, str | None]:
    """The options of a my.cnf that the server reads."""
    file = scan_cnf(decode_cnf(data)[0], lambda group: server_group(group, target))
    return {setting.name: setting.value for setting in file.settings}


def statements_in(text: str) -> list[str]:
    """The statements of a script, as a client would send them; every other line is a comment."""
    lines = [line for line in text.splitlines() if line]
    found = [line for line in lines if line != "--" and not line.startswith("-- ")]
    assert all(line.endswith(";") for line in found), found
    return found


def flat(text: str) -> str:
    """The text without its comment marks and line breaks."""
    return " ".join(line.lstrip("+#- ") for line in text.splitlines())


def rendered(
    given: ExportFacts,
    format: str = "cnf",
    current: bytes | None = None,
    acknowledged: Durability = Durability.D0,
) -> str:
    """A file of these facts."""
    return export(given, ExportRequest(format, acknowledged, current)).text


def patched_cnf(given: ExportFacts, current: bytes) -> bytes:
    """`current` with the recommended values: what the exported diff leads to."""
    return export(given, ExportRequest("cnf", Durability.D2, current)).data


def exported(study: Study, format: str = "cnf", **asked: Any) -> str:
    """A fresh file of the study's first recommendation as it is now, on one line."""
    document = build(StudyRows(study))
    [(_, found), *_] = document.recommendations
    files = replace(StudyFiles.of(document), files={})
    text = files.export(found.id, ExportRequest(format, **asked)).text
    return " ".join(text.replace("#", "").split())
