"""Executes one run: claim the row, measure, close the row. The row is the only truth."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import Error, connection, transaction
from django.utils import timezone

from benchmarks.datasets.golden import FULL
from benchmarks.drivers.protocol import Load
from benchmarks.drivers.select import find_driver
from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.jobs import heartbeat
from benchmarks.jobs.claims import claimant
from benchmarks.jobs.heartbeat import Heartbeat, measuring_alone
from benchmarks.jobs.run_values import Ended, run_values
from benchmarks.measurement.early_stop import CutRule
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import CutShort, Disturbed, Measurement
from benchmarks.models import Run, RunState, Sample
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import identify
from benchmarks.telemetry.disturbance import Limits

logger = logging.getLogger(__name__)

Measure = Callable[..., Measurement]
#: Gives the rule by which a run is cut short, asked when the run begins; None: it never is.
Cutting = Callable[[Run], CutRule | None]

STOP_OUTCOMES = {
    heartbeat.CANCELLED: (Outcome.CANCELLED, "cancelled by the user"),
    heartbeat.WORKER_STOPPING: (Outcome.CANCELLED, "the worker was stopped"),
    heartbeat.WORKER_DIED: (Outcome.LOST, "the worker died"),
    heartbeat.TAKEN_AWAY: (Outcome.LOST, "given up for lost meanwhile"),
}


def never_cut(_: Run) -> CutRule | None:
    """Every run is measured to its end."""
    return None


def execute_run(run_id: int, *, measure: Measure = measure, cutting: Cutting = never_cut) -> bool:
    """Measure run `run_id` if nobody else does; False when there was nothing to do.

    Duplicate or late messages end here: only the process that moves the row from `queued` to
    `running` goes on.
    """
    with measuring_alone() as held:
        if not held or not _claim(run_id):
            return False
        _execute_claimed(Run.objects.get(pk=run_id), measure, cutting)
    return True


def _claim(run_id: int) -> bool:
    now = timezone.now()
    claimed = Run.objects.filter(pk=run_id, state=RunState.QUEUED).update(
        state=RunState.RUNNING, claimed_by=claimant(), started_at=now, heartbeat_at=now
    )
    return claimed == 1


def _execute_claimed(run: Run, measure: Measure, cutting: Cutting) -> None:
    def beat() -> str:
        mine = Run.objects.filter(pk=run.pk, state=RunState.RUNNING)
        if not mine.update(heartbeat_at=timezone.now()):
            return heartbeat.TAKEN_AWAY
        return mine.values_list("stop_request", flat=True).first() or ""

    def report(step: str) -> None:
        try:
            Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(step=step)
        except Error as error:
            # As with the heartbeat: no reason to throw a measurement away.
            logger.warning("run %s: step %r not stored: %s", run.pk, step, error)
            connection.close()

    with Heartbeat(beat) as pulse:
        try:
            plan = replace(plan_for(run), cut_rule=cutting(run))
            measurement = measure(plan, report=report, should_stop=pulse.should_stop)
        except (Disturbed, CutShort) as ended:
            _store(run, ended)
        except RunFailed as failure:
            outcome, reason = failure.outcome, str(failure)
            if pulse.stop_request:
                outcome, reason = STOP_OUTCOMES[pulse.stop_request]
            close(run, outcome, reason=reason, log_tail=failure.log_tail)
        except BenchmarkError as failure:
            close(run, Outcome.SETUP_FAILED, reason=str(failure), log_tail=failure.log_tail)
        except OSError as error:
            outcome = Outcome.DISK_FULL if error.errno in FULL else Outcome.SETUP_FAILED
            close(run, outcome, reason=str(error))
        except Exception as bug:
            logger.exception("run %s: internal error", run.pk)
            close(run, Outcome.INTERNAL_ERROR, reason=f"{type(bug).__name__}: {bug}")
        except BaseException:
            # SystemExit of a cold worker shutdown: the row must not stay `running`.
            close(run, Outcome.LOST, reason="the worker was terminated")
            raise
        else:
            _store(run, measurement)


def plan_for(run: Run) -> Plan:
    """What `measure` needs to know, read from the row.

    Raises NotAServer, NoDriver, DeviceUnusable or another BenchmarkError when something is no
    longer there.
    """
    binary = identify(Path(run.server.path))
    if binary.digest != run.server.digest:
        raise BenchmarkError(
            f"{run.server.path} is no longer the server this study began with "
            f"({run.server.version}): its digest changed"
        )
    workload, device = run.workload, run.device
    return Plan(
        name=f"run-{run.pk}",
        binary=binary,
        driver=find_driver(workload.driver),
        load=Load(
            warehouses=workload.warehouses,
            connections=workload.connections,
            warmup_s=workload.warmup_s,
            measure_s=workload.measure_s,
            seed=run.seed,
        ),
        options=dict(run.config.knobs),
        layout=device.layout,
        emulation=device.profile,
        logs_with_data=run.logs_with_data,
        expected=(device.found, device.found_for_logs),
        registry=settings.INSTANCE_REGISTRY,
        limits=Limits(
            steal_pct=settings.STEAL_LIMIT_PCT,
            foreign_cpu_pct=settings.FOREIGN_CPU_LIMIT_PCT,
            foreign_io_pct=settings.FOREIGN_IO_LIMIT_PCT,
            stall_pct=settings.STALL_LIMIT_PCT,
            swap_mb_s=settings.SWAP_LIMIT_MB_S,
        ),
    )


def close(run: Run, outcome: Outcome, *, reason: str = "", log_tail: str = "") -> bool:
    """Move a running row to its end; False when somebody else (the sweeper) already did."""
    return _finish(run, {"state": outcome.value, "reason": reason, "log_tail": log_tail})


def _store(run: Run, ended: Ended) -> None:
    values, samples = run_values(ended)
    with transaction.atomic():
        if _finish(run, values):
            Sample.objects.bulk_create(Sample(run=run, **row) for row in samples)


def _finish(run: Run, values: dict[str, Any]) -> bool:
    mine = Run.objects.filter(pk=run.pk, state=RunState.RUNNING, claimed_by=claimant())
    closed = mine.update(finished_at=timezone.now(), step="", **values)
    if not closed:
        logger.warning("run %s was closed by somebody else meanwhile", run.pk)
    return closed == 1
