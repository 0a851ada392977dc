"""Facts and helpers that the tests of the export share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_preset
from tuning.configs.check import check_knobs
from tuning.configs.parse import decode_cnf, scan_cnf, server_group
from tuning.configs.situation import Situation
from tuning.export.facts import Effect, ExportFacts
from tuning.export.formats import ExportRequest, export
from tuning.models import Study
from tuning.recommendations import StudyFiles
from tuning.results.build import build
from tuning.results.document import Figures
from tuning.results.study_rows import StudyRows
from tuning.statistics.estimate import Estimate

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MYSQL_8 = ServerTraits(Flavour.MYSQL, (8, 0, 36))
MYSQL_57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
HOST = HostResources(memory_bytes=8 * 1024**3, logical_cpus=8, data_bytes=1024**3)
EFFECT = Effect(
    workload="tpcc-mysql, 10 warehouses, 8 connections, 5 s warm-up, 12 s measured",
    unit="tpmP",
    runs=3,
    failures=1,
    blocks=3,
    figures=Figures(throughput=12345.6, p95_ms=7.77),
    baseline=Figures(throughput=8700.0, p95_ms=12.5),
    throughput=Estimate(ratio=1.4236),
)
FACTS = ExportFacts(
    study="3, what is best here",
    study_url="http://127.0.0.1:8000/studies/3/",
    date="2026-11-21",
    device="/srv/data (nvme, nvme0n1, ext4)",
    server=MYSQL,
    candidate="mine",
    baseline="server-default",
    knobs={"innodb_io_capacity": "2000", "innodb_flush_method": "O_DIRECT"},
    effect=EFFECT,
    data_bytes=1024**3,
)


def facts(**changes: Any) -> ExportFacts:
    return dataclasses.replace(FACTS, **changes)


def preset_facts(name: str, target: ServerTraits, **changes: Any) -> ExportFacts:
    """The facts of a preset that was planned for the target."""
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
