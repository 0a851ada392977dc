"""Rows for tests of the pages and the API: a study as it looks in life, at any point of it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.utils import timezone

from advisor.access.roles import Role, set_role
from advisor.tests.probes import identity, probe_result
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.models import (
    Config,
    Device,
    Host,
    JobState,
    Probe,
    Run,
    RunState,
    Sample,
    Server,
    Workload,
)
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult, suggested_io_capacity
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.tests.made_up_host import made_up_host
from tuning.catalogue.knob import Durability
from tuning.configs.line import Fate, LineResult
from tuning.configs.values import config_hash
from tuning.models import (
    Candidate,
    DurabilityClass,
    Recommendation,
    Slot,
    Study,
    StudyState,
)
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import Request
from tuning.requests.gate import GateRequest, GateSide
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results.answer import store_recommendations
from tuning.results.boards import Board, boards_of
from tuning.results.study_rows import StudyRows
from tuning.statistics.gate import GatePlan
from tuning.studies.continuation import continue_study
from tuning.studies.events import note_run
from tuning.studies.revision import bump

T = TypeVar("T")
BEGIN = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LOG_TAIL = """\
2026-11-21T09:41:02.117812Z 0 [System] [MY-010116] [Server] mysqld starting as process 4711
2026-11-21T09:41:02.140553Z 0 [ERROR] [MY-000067] [Server] unknown variable 'innodb_file_format=x'.
2026-11-21T09:41:02.140812Z 0 [ERROR] [MY-010119] [Server] Aborting
2026-11-21T09:41:02.141955Z 0 [System] [MY-010910] [Server] mysqld: Shutdown complete."""

# Name, throughput and p95 in ms about which the made-up runs scatter.
CANDIDATES = (
    ("server-default", 6120.0, 148.0),
    ("whitepaper-1", 5460.0, 171.0),
    ("whitepaper-2", 6890.0, 121.0),
    ("whitepaper-3", 8420.0, 88.0),
    ("whitepaper-a", 8510.0, 84.5),
)
NAMES = tuple(line[0] for line in CANDIDATES)
KNOBS: dict[str, str] = {
    "innodb_buffer_pool_size": "134217728",
    "innodb_flush_method": "O_DIRECT",
    "innodb_io_capacity": "15000",
    "innodb_io_capacity_max": "25000",
    "innodb_redo_log_capacity": "3221225472",
    "innodb_page_cleaners": "8",
    "innodb_adaptive_hash_index": "OFF",
    "max_connections": "4000",
}
NOTES = [
    {
        "name": "innodb_log_file_size",
        "action": "adjusted",
        "detail": "3 files of 1 GB are innodb_redo_log_capacity = 3 GB since MySQL 8.0.30",
    },
    {
        "name": "query_cache_size",
        "action": "dropped",
        "detail": "the query cache was removed in MySQL 8.0",
    },
    {
        "name": "innodb_checksum_algorithm",
        "action": "held",
        "detail": "NONE is not durable (D2); left at the server's default crc32",
    },
]
FINGERPRINT = {
    "cpu_model": "AMD EPYC 7B13",
    "logical_cpus": "2",
    "memory_bytes": "25179869184",
    "kernel": "6.1.0-37-cloud-amd64",
    "machine": "x86_64",
    "virtualisation": "kvm",
    "cpu_governor": "unknown",
    "data_kind": "sata-ssd",
    "data_serial": "naa.5000c500a1b2c3d4",
    "data_model": "Samsung SSD 870 EVO 1TB",
    "data_scheduler": "mq-deadline",
    "data_file_system": "ext4",
    "data_mount_options": "rw,relatime",
}

PAPER = "Accelerating OLTP on NVMe (2016), table 6"


def sure(value: T | None) -> T:
    """Return the value, which has to be there."""
    assert value is not None
    return value


def make_host(name: str = "db-host-1") -> Host:
    usual = {"inventory": lambda: made_up_host(name=name).as_json()}
    return Host.objects.get_or_create(name=name, defaults=usual)[0]


def make_user(name: str, role: Role) -> User:
    """An account without a password."""
    user = User.objects.create_user(name)
    set_role(user, role)
    return user


def make_device(**values: Any) -> Device:
    defaults: dict[str, Any] = {
        "kind": "sata-ssd",
        "data_dir": "/srv/mysql",
        "block_device": "sda",
        "model": "Samsung SSD 870 EVO 1TB",
        "file_system": "ext4",
        "scheduler": "mq-deadline",
    }
    host = values.pop("host", None) or make_host()
    return Device.objects.create(host=host, **(defaults | values))


def found_device(found: DeviceIdentity | None = None, **values: Any) -> Device:
    """A device with the identity that is stored with it."""
    found = found or identity()
    facts: dict[str, Any] = {
        "kind": found.kind.value,
        "discovered_kind": found.kind.value,
        "data_dir": str(found.path),
        "block_device": found.block_device or "",
        "model": found.model,
        "file_system": found.file_system,
        "scheduler": found.scheduler,
        "identity": found.as_json(),
    }
    return make_device(**(facts | values))


def emulated_device(memory_bytes: int = 700_000_000, **values: Any) -> Device:
    """One that stands for a hard disk, on the directory of `make_device`."""
    profile = EmulationProfile("hdd", "hdd", 200, 200, memory_bytes=memory_bytes)
    facts: dict[str, Any] = {
        "kind": "hdd",
        "emulation": profile.as_dict(),
        "emulation_label": profile.label(),
    }
    return make_device(**(facts | values))


def probed(device: Device, result: ProbeResult | None = None, **values: Any) -> Probe:
    """A probe of the device that ended well, with the columns that the service fills in."""
    result = result or probe_result(device.found)
    writes, commit = result.best(Pattern.RANDOM_WRITE), result.commit()
    low, high = suggested_io_capacity(result) if writes else (None, None)
    facts: dict[str, Any] = {
        "seconds": 50,
        "state": JobState.OK,
        "fraction": 1.0,
        "started_at": result.date,
        "finished_at": result.date + timedelta(seconds=result.seconds),
        "random_read_iops": result.best(Pattern.RANDOM_READ),
        "random_write_iops": writes,
        "read_mb_s": result.best(Pattern.SEQUENTIAL_READ),
        "write_mb_s": result.best(Pattern.SEQUENTIAL_WRITE),
        "commit_p50_us": commit.flush.p50 if commit and commit.flush else None,
        "commit_p99_us": commit.flush.p99 if commit and commit.flush else None,
        "io_capacity_low": low,
        "io_capacity_high": high,
        "result": result.as_json(),
    }
    return Probe.objects.create(device=device, **(facts | values))


def probed_device(
    found: DeviceIdentity | None = None, *, result: ProbeResult | None = None, **values: Any
) -> Device:
    """A device as discovery stores it, with one good probe."""
    device = found_device(found, **values)
    probed(device, result)
    return device


def make_server(**values: Any) -> Server:
    defaults: dict[str, Any] = {
        "flavour": "mysql",
        "version": "9.7.4",
        "path": "/usr/sbin/mysqld",
        "digest": "8d3c1f" + "0" * 58,
    }
    host = values.pop("host", None) or make_host()
    return Server.objects.get_or_create(host=host, **(defaults | values))[0]


def make_workload(**values: Any) -> Workload:
    defaults: dict[str, Any] = {
        "driver": "tpcc-mysql",
        "warehouses": 10,
        "connections": 8,
        "warmup_s": 5,
        "measure_s": 12,
    }
    return Workload.objects.get_or_create(**({"load_host": None} | defaults | values))[0]


def make_study(
    *,
    state: StudyState = StudyState.QUEUED,
    blocks: int = 3,
    names: Sequence[str] = NAMES,
    device: Device | None = None,
    others: Sequence[Device] = (),
    workloads: Sequence[Workload] = (),
    end: Callable[[Run], object] = lambda _: None,
    **values: Any,
) -> Study:
    """A study with all its slots and queued runs; the first name is the baseline.

    `others`: devices beside the first one, with the same slots. `end`: is given each run, with its
    slot, before it is stored.
    """
    devices = [device or Device.objects.first() or make_device(), *others]
    host = devices[0].host
    workloads = workloads or [make_workload()]
    facts: dict[str, Any] = {
        "name": "Quick comparison",
        "template": "quick",
        "seed": 20261121,
        "races": False,
        "confirms": False,
    }
    study = Study.objects.create(
        host=host, server=make_server(host=host), blocks=blocks, state=state, **(facts | values)
    )
    study.devices.add(*devices)
    study.workloads.add(*workloads)
    candidates = _make_candidates(study, names)
    keep_request(study)
    dice = random.Random(study.seed)
    places = [*((candidate, 0) for candidate in candidates), (candidates[0], 1)]
    shuffled = [
        (workload, block, dice.sample(places, len(places)))
        for workload in workloads
        for block in range(1, blocks + 1)
    ]
    slots: list[Slot] = []
    for number, place in enumerate(devices):
        seed = study.seed - len(slots) + 1000 * number
        for workload, block, order in shuffled:
            for candidate, replicate in order:
                slot = Slot(
                    study=study,
                    candidate=candidate,
                    device=place,
                    workload=workload,
                    block=block,
                    replicate=replicate,
                    order=len(slots) + 1,
                    run=Run(
                        host=host,
                        device=place,
                        server=study.server,
                        workload=workload,
                        config=candidate.config,
                        seed=seed + len(slots) + 1,
                    ),
                )
                end(slot.run)
                slots.append(slot)
    Run.objects.bulk_create(slot.run for slot in slots)
    Slot.objects.bulk_create(slots)
    return study


def _make_candidates(study: Study, names: Sequence[str]) -> list[Candidate]:
    # The baseline is the server's defaults: no knob set, nothing translated.
    given = [
        KNOBS | {"innodb_io_capacity": str(1000 * place)} if place else {}
        for place in range(len(names))
    ]
    wanted = [Config(hash=config_hash(knobs), knobs=knobs) for knobs in given]
    Config.objects.bulk_create(wanted, ignore_conflicts=True)
    configs = {
        config.hash: config
        for config in Config.objects.filter(hash__in=[config.hash for config in wanted])
    }
    return Candidate.objects.bulk_create(
        Candidate(
            study=study,
            name=name,
            config=configs[config.hash],
            is_baseline=place == 0,
            position=place,
            source=PAPER if place else "the server's defaults",
            notes=NOTES if place else [],
        )
        for place, (name, config) in enumerate(zip(names, wanted, strict=True))
    )


def check(stage: str, **values: Any) -> dict[str, Any]:
    """A stage of the gate as it is stored, passed unless `values` say otherwise."""
    nothing: dict[str, Any] = {"problems": [], "notes": [], "differences": [], "log_tail": ""}
    facts = {"stage": stage, "reached": True, "passed": True, "seconds": None, "outcome": ""}
    return facts | nothing | values


LINES = [
    LineResult(
        *(2, "innodb_log_file_size", "innodb_log_file_size = 1G", Fate.TRANSLATED),
        "2 files of 1 GB are innodb_redo_log_capacity = 2 GB since MySQL 8.0.30",
        (("innodb_redo_log_capacity", "2147483648"),),
        "1G",
    ),
    LineResult(
        *(3, "query_cache_size", "query_cache_size = 64M", Fate.REMOVED),
        "MySQL 9.7.4 does not have it (removed in 8.0.3)",
        value="64M",
    ),
    LineResult(
        *(5, "innodb_io_capacity", "innodb_io_capacity = 2000", Fate.MEASURED),
        became=(("innodb_io_capacity", "2000"),),
        value="2000",
    ),
]
REFUSAL = "the server exited with status 1 before it answered"


def gate(study: Study) -> Study:
    """The gate's results as a study has them after its preparation: the last candidate is refused
    by the server, the one before it is the same as the second, the third is a file of the user.
    """
    baseline, second, user, *_, duplicate, refused = study.candidates.order_by("position")
    passed = [check("values"), check("rules")]
    for candidate in (baseline, second, user, duplicate):
        differing = [
            {"name": "innodb_page_cleaners", "requested": "8", "effective": "4"},
            {"name": "innodb_io_capacity_max", "requested": "25000", "effective": None},
        ]
        candidate.checks = [
            *passed,
            check("server", seconds=3.42),
            check("read_back", differences=[] if candidate.is_baseline else differing),
        ]
        candidate.save()
    user.lines = [line.document() for line in LINES]
    user.notes = [{"name": LINES[1].name, "action": "dropped", "detail": LINES[1].reason}]
    user.source = "given by the user"
    user.save()
    duplicate.merged_into = second
    duplicate.save()
    duplicate.slots.all().delete()
    problem = {"source": refused.name, "line": None, "name": "", "reason": REFUSAL}
    refused.refusal = REFUSAL
    refused.checks = [
        *passed,
        check("server", passed=False, problems=[problem], log_tail=LOG_TAIL, outcome="no_start"),
        check("read_back", reached=False, passed=False),
    ]
    refused.save()
    refused.slots.all().delete()
    return study


def begin(study: Study, *, step: str = "measuring") -> Run | None:
    """Let the next queued run of the study be the one that runs now."""
    slot = study.slots.filter(run__state=RunState.QUEUED).order_by("order").first()
    if slot is None:
        return None
    started = timezone.now()
    bump([study.pk])
    Run.objects.filter(pk=slot.run_id).update(
        state=RunState.RUNNING, step=step, started_at=started, heartbeat_at=started
    )
    slot.run.refresh_from_db()
    return slot.run


def finish(run: Run, *, samples: bool = False) -> Run:
    """End the run well, as `end_well` does, and store it."""
    _store(run, end_well(run))
    if samples:
        Sample.objects.bulk_create(make_samples(run))
    return run


def end_well(run: Run) -> dict[str, Any]:
    """Give the run plausible figures that depend on its candidate and seed only."""
    dice = random.Random(run.seed)
    typical = {name: (tpmp, p95) for name, tpmp, p95 in CANDIDATES}
    tpmp, p95 = typical.get(run.slot.candidate.name, (6000.0, 150.0))
    noise = dice.gauss(1.0, 0.03)
    started = BEGIN + timedelta(seconds=28 * run.slot.order)
    rate = tpmp * noise / 60
    values: dict[str, Any] = {
        "state": RunState.OK,
        "started_at": started,
        "finished_at": started + timedelta(seconds=26.4),
        "throughput": tpmp * noise,
        "p95_ms": p95 / noise,
        "p99_ms": p95 / noise * 1.7,
        "max_ms": p95 / noise * 4.2,
        "server_path_length": 4.1e9 / rate,
        "host_path_length": 5.3e9 / rate,
        "bytes_written_per_transaction": 41_300.0,
        "bytes_written_source": "server",
        "cpu_hz": 2_450_000_000.0,
        "server_cores": 1.31,
        "cpu_user_pct": 61.2,
        "cpu_sys_pct": 17.9,
        "cpu_iowait_pct": 12.4,
        "cpu_steal_pct": 0.6,
        "data_read_iops": 212.0,
        "data_write_iops": 1834.5,
        "data_read_mb_s": 3.4,
        "data_write_mb_s": 44.1,
        "latency": spread_latencies(p95 / noise, round(rate * run.workload.measure_s)),
        "completed": round(rate * run.workload.measure_s),
        "failed": 0,
        "retried": 2,
        "measured_seconds": float(run.workload.measure_s),
        "driver_cpu_ms_per_transaction": 1.42,
        "driver_version": "tpcc-mysql 1ec1c5e",
        "code_commit": "3d1a557c0ffe",
        "comparability_key": "a1" * 32,
        "fingerprint": FINGERPRINT,
        "variables": {
            "version": "9.7.4",
            "sync_binlog": "1",
            "innodb_doublewrite": "ON",
            "innodb_flush_log_at_trx_commit": "1",
            **run.config.knobs,
            "innodb_page_cleaners": "4",
        },
        "step_seconds": {
            "cloning the dataset": 2.1,
            "starting the server": 3.4,
            "warming up": float(run.workload.warmup_s),
            "measuring": float(run.workload.measure_s),
            "stopping the server": 3.2,
            "discarding the clone": 0.4,
        },
    }
    return _set(run, values)


_WEIGHTS = [math.exp(-((at / 14) ** 2) / 2) for at in range(-40, 41)]
_SHARES = [weight / sum(_WEIGHTS) for weight in _WEIGHTS]


def spread_latencies(p95_ms: float, completed: int) -> dict[str, Any]:
    """A stored histogram of about so many transactions, most of them at a third of the p95."""
    middle = round(16 * math.log2(p95_ms / 3))
    counts = [max(round(completed * share), 1) for share in _SHARES]
    return {"first": middle - 40, "counts": counts}


def _set(run: Run, values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        setattr(run, name, value)
    return values


def _store(run: Run, values: dict[str, Any]) -> None:
    bump(Study.objects.filter(slots__run=run))
    Run.objects.filter(pk=run.pk).update(**values)


def make_samples(run: Run) -> list[Sample]:
    """Samples of a run that has ended, yet to be stored."""
    dice = random.Random(run.seed)
    seconds = range(-run.workload.warmup_s, run.workload.measure_s)
    return [
        Sample(
            run=run,
            second=second,
            completed=round((run.throughput or 0) / 60 * dice.gauss(1, 0.08))
            if second >= 0
            else None,
            p95_ms=(run.p95_ms or 0) * dice.gauss(1, 0.08) if second >= 0 else None,
            cpu_user_pct=dice.gauss(60, 4),
            cpu_sys_pct=dice.gauss(18, 2),
            cpu_iowait_pct=dice.uniform(5, 15),
            cpu_steal_pct=dice.uniform(0, 1),
            server_cores=dice.gauss(1.3, 0.08),
            elapsed_s=1.0,
            server_rss_bytes=(612 + second) * 1_000_000,
            data_read_iops=dice.gauss(212, 30),
            data_write_iops=dice.gauss(1834, 200),
            data_read_mb_s=dice.gauss(3.4, 0.5),
            data_write_mb_s=dice.gauss(44, 5),
        )
        for second in seconds
    ]


def fail(run: Run, state: RunState = RunState.NO_START) -> Run:
    _store(run, _end_badly(run, state))
    return run


def _end_badly(run: Run, state: RunState = RunState.NO_START) -> dict[str, Any]:
    started = BEGIN + timedelta(seconds=28 * run.slot.order)
    values = {
        "state": state,
        "reason": "the server exited with status 1 before it answered",
        "log_tail": LOG_TAIL,
        "started_at": started,
        "finished_at": started + timedelta(seconds=6.2),
        "step": "",
    }
    return _set(run, values)


def keep_request(study: Study, **values: Any) -> None:
    """Store the request that the study would have been made from, with other `values`."""
    workloads = sorted(study.workloads.all(), key=lambda one: one.connections)
    first = workloads[0]
    devices = [DeviceRequest(id=device.pk) for device in study.devices.order_by("pk")]
    facts: dict[str, Any] = {
        "name": study.name,
        "host": study.host.name,
        "driver": first.driver,
        "load_host": first.load_host.name if first.load_host else "",
        "workload": first.name,
        **first.kind.parameters,
        "connections": [one.connections for one in workloads],
        "warmup_s": first.warmup_s,
        "measure_s": first.measure_s,
        "budget_minutes": study.budget_minutes,
        "durability": Durability(study.durability),
    }
    if study.gate == {}:  # none that is looked at
        return
    if study.gate is not None:
        plan = GatePlan.from_json(study.gate)
        sides = [
            GateSide(
                stored=one.config.hash[:12] if one.config.knobs else "default",
                server=Path(one.measured_on.path),
            )
            for one in study.candidates.order_by("-is_baseline")
        ]
        request: Request = GateRequest(
            **facts
            | {
                "baseline": sides[0],
                "candidate": sides[1],
                "connections": first.connections,
                "device": devices[0],
                "limits": {one.metric: one.loss * 100 for one in plan.limits},
                "confidence": plan.confidence * 100,
                "max_pairs": plan.max_pairs,
                "binary_log": study.binary_log,
            }
        )
    else:
        request = StudyRequest(
            **facts
            | {
                "template": study.template,
                "devices": devices,
                "server": Path(study.server.path),
                "blocks": None if study.search else max(study.blocks, 1),
                "races": study.races,
                "confirms": study.confirms,
                "search": SearchRequest() if study.search else None,
            }
            | values
        )
    study.request = request.as_json()
    study.save(update_fields=["request"])


def measured_study(
    *, fails: Sequence[str] = (), samples: bool = False, recommended: bool = True, **values: Any
) -> Study:
    """A finished study; every run of the candidates named in `fails` did not start."""
    facts: dict[str, Any] = {
        "state": StudyState.FINISHED,
        "started_at": BEGIN,
        "finished_at": BEGIN + timedelta(minutes=8, seconds=3),
    }

    def end(run: Run) -> None:
        if run.slot.candidate.name in fails:
            _end_badly(run)
        else:
            end_well(run)

    study = make_study(end=end, **(facts | values))
    if samples:
        ended = Run.objects.filter(slot__study=study, state=RunState.OK)
        runs = ended.select_related("workload").order_by("slot__order")
        Sample.objects.bulk_create(chain.from_iterable(make_samples(run) for run in runs))
    if recommended:
        recommend(study)
    return study


UNSAFE = {
    "D1": {"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
    "D2": {"innodb_doublewrite": "OFF", "innodb_flush_log_at_trx_commit": "0"},
}


def unsafe_study(**values: Any) -> Study:
    """A finished study whose last two candidates are of D1 and D2, with all recommendations."""
    study = make_study(
        durability=DurabilityClass.D2,
        state=StudyState.FINISHED,
        started_at=BEGIN,
        finished_at=BEGIN + timedelta(minutes=8),
        **values,
    )
    for name, given in zip(NAMES[-2:], ("D1", "D2"), strict=True):
        candidate = study.candidates.get(name=name)
        knobs = candidate.config.knobs | UNSAFE[given]
        config, _ = Config.objects.get_or_create(
            hash=config_hash(knobs), defaults={"knobs": knobs}
        )
        Candidate.objects.filter(pk=candidate.pk).update(config=config, durability=given)
        Run.objects.filter(slot__candidate=candidate).update(config=config)
    for slot in study.slots.select_related("run__slot__candidate", "run__workload", "run__config"):
        finish(slot.run)
    for board in boards_of(StudyRows(study)):
        recommend(study, board)
    return study


def recommend(study: Study, board: Board | None = None) -> Recommendation:
    board = board or boards_of(StudyRows(study))[0]
    best = board.judgement.ranked[0]
    assert best.estimate is not None
    ratio = best.estimate.ratio
    return Recommendation.objects.create(
        study=study,
        device=board.device,
        workload=board.workload,
        durability=board.durability,
        kind="winner",
        candidate=board.candidates[best.name],
        ratio_to_baseline=ratio,
        verdict=(
            f"{best.name} completed {(ratio - 1) * 100:.1f} % more transactions "
            "per minute than server-default (3 blocks)."
        ),
    )


def race(study: Study, *, most: int = 400, conclude: bool = True) -> Study:
    """Let a study without slots run as in life: the services decide what is measured next.

    Ends after `most` runs, then still running unless it had come to its end.
    """
    Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, started_at=BEGIN)
    study.refresh_from_db()
    done = 0
    while not continue_study(study):
        queued = study.slots.filter(run__state=RunState.QUEUED).order_by("order")
        for slot in queued.select_related("run__slot__candidate", "run__workload", "run__config"):
            if done == most:
                return study
            finish(slot.run)
            done += 1
    if conclude:
        store_recommendations(study)
        Study.objects.filter(pk=study.pk).update(
            state=StudyState.FINISHED, finished_at=BEGIN + timedelta(seconds=28 * done)
        )
        study.refresh_from_db()
    return study


def study_on_two_devices(*, blocks: int = 2, **values: Any) -> Study:
    """A study yet to `race` on a disk as it is and emulated, both on one directory."""
    study = make_study(blocks=0, device=found_device(), **values)
    study.devices.add(emulated_device())
    Study.objects.filter(pk=study.pk).update(blocks=blocks)
    study.refresh_from_db()
    return study


def raced_study(*, blocks: int = 5, most: int = 400, **values: Any) -> Study:
    """A study that raced and confirmed its winner, with the text of the real services.

    whitepaper-1 is measurably behind and leaves; the best two are tied.
    """
    facts: dict[str, Any] = {"races": True, "confirms": True}
    study = make_study(blocks=0, **(facts | values))
    Study.objects.filter(pk=study.pk).update(blocks=blocks)
    study.refresh_from_db()
    return race(study, most=most)


DISTURBED: dict[str, Any] = {
    "kind": "foreign_cpu",
    "value": 33.9,
    "limit": 10.0,
    "unit": "%",
    "text": "other programs used 33.9 % of the CPUs (limit 10 %), most of it make",
}
CONDITIONS: dict[str, Any] = {
    "seconds": 12.0,
    "steal_pct": 0.4,
    "foreign_cpu_pct": 33.9,
    "foreign_io_pct": 0.0,
    "foreign_io_mb_s": 0.1,
    "stalled_s": 0.0,
    "asleep_s": 0.0,
    "swap_mb_s": 0.0,
    "throttled_pct": None,
    "by_cpu": [["make", 33.1]],
    "by_io": [],
    "limits": {
        "steal_pct": 5.0,
        "foreign_cpu_pct": 10.0,
        "foreign_io_pct": 10.0,
        "stall_pct": 2.0,
        "swap_mb_s": 1.0,
        "throttled_pct": 1.0,
    },
    "unwatched": ["throttling: not reported by this host"],
}


def disturb(slot: Slot) -> Run:
    """Make the slot's run the second try of one that was disturbed; returns the void one."""
    run = slot.run
    void = Run.objects.create(
        host=run.host,
        device=run.device,
        server=run.server,
        workload=run.workload,
        config=run.config,
        seed=run.seed,
        state=RunState.DISTURBED,
        reason=DISTURBED["text"],
        disturbances=[DISTURBED],
        conditions=CONDITIONS,
        started_at=BEGIN + timedelta(seconds=28 * slot.order - 5),
        finished_at=BEGIN + timedelta(seconds=28 * slot.order),
    )
    Slot.objects.filter(pk=slot.pk).update(run=void)
    note_run(void.pk)
    Slot.objects.filter(pk=slot.pk).update(run=run)
    Run.objects.filter(pk=run.pk).update(retry_of=void)
    return void
