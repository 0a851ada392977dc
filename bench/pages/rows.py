"""Years of studies: one of each kind as it looks in life, copied in the database."""

from __future__ import annotations

import os
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from advisor.tests import factories
from advisor.tests.search_study import searching_study
from benchmarks.models import Device, Run, RunState, Sample
from tuning.models import Recommendation, Slot, Study, StudyGroup, StudyState

_NAMES = factories.NAMES
_HOSTS = 3
_BLOCKS = 3  # of five candidates and the baseline's replicate: 18 runs
_CONFIGS = 100  # of a search


def fill(studies: int, runs: int, samples: int, slots: int, devices: int) -> str:
    """What was stored, in words. `runs` of a study, `samples` of a run."""
    with transaction.atomic():
        hosts = [factories.make_host(f"db-host-{number}") for number in range(1, _HOSTS + 1)]
        places = [
            factories.make_device(
                host=hosts[number % _HOSTS], data_dir=f"/srv/{number}", kind=kind
            )
            for number, kind in zip(
                range(devices), ("hdd", "sata-ssd", "nvme", "nvme") * devices, strict=False
            )
        ]
        workload = factories.make_workload(measure_s=samples, warmup_s=0)
        pattern = factories.measured_study(
            device=places[0], workloads=[workload], blocks=_BLOCKS, name="usual"
        )
        large, busy = (
            factories.measured_study(
                device=places[0],
                workloads=[workload],
                blocks=max(slots // (len(_NAMES) + 1), 1),
                name=name,
            )
            for name in ("large", "under way")
        )
        _search()
        for number in range(studies - 1):
            _copy(pattern, places[number % devices], number)
        newest = Study.objects.filter(name__in=[f"study {number}" for number in range(_HOSTS)])
        newest.update(group=StudyGroup.objects.create(name="One on each host"))
    with transaction.atomic():
        _sample(samples)
    _begin_again(busy, samples)
    # Else PostgreSQL and the system do so by themselves, for minutes, beside what is measured.
    is_postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        for statement in ("vacuum analyze", "checkpoint") if is_postgres else ("analyze",):
            cursor.execute(statement)
    os.sync()
    assert pattern.slots.count() == runs
    return (
        f"{Study.objects.count()} studies, {Run.objects.count()} runs, "
        f"{Sample.objects.count()} seconds, {large.slots.count()} slots in each of two studies"
    )


def _search() -> None:
    """A search that has ended, of twice the usual length; its host has learned from it."""
    study = searching_study(_CONFIGS)
    ended = {"finished_at": timezone.now()}
    running = Run.objects.filter(slot__study=study, state=RunState.RUNNING)
    running.update(state=RunState.CANCELLED, **ended)
    rows = Study.objects.filter(pk=study.pk)
    rows.update(name="search", state=StudyState.FINISHED, **ended)


def _begin_again(study: Study, seconds: int) -> None:
    """Queue the last third of the study's runs again, and let the first of them be driven."""
    slots = list(study.slots.order_by("order"))
    current, *waiting = slots[len(slots) * 2 // 3 :]
    of_waiting = Run.objects.filter(pk__in=[slot.run_id for slot in waiting])
    of_waiting.update(state=RunState.QUEUED, started_at=None, finished_at=None, step="")
    live = [[second, 100.0 + second % 17, 80.5, 62.0] for second in range(seconds - 60, seconds)]
    Run.objects.filter(pk=current.run_id).update(
        state=RunState.RUNNING,
        started_at=timezone.now(),
        finished_at=None,
        step="measuring",
        live=live,
    )
    study.recommendations.all().delete()
    Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, finished_at=None)


def _copy(pattern: Study, device: Device, number: int) -> None:
    study = Study.objects.get(pk=pattern.pk)
    study.pk, study.name = None, f"study {number}"
    study.host, study.server = device.host, factories.make_server(host=device.host)
    # One in some hours: two years of them.
    study.started_at = timezone.now() - timedelta(hours=32 * (number + 1))
    study.finished_at = study.started_at + timedelta(minutes=20)
    study.save(force_insert=True)
    study.devices.add(device)
    study.workloads.add(*pattern.workloads.all())
    candidates = {}
    for candidate in pattern.candidates.all():
        old, candidate.pk, candidate.study = candidate.pk, None, study
        candidate.save(force_insert=True)
        candidates[old] = candidate
    slots = list(pattern.slots.select_related("run"))
    for slot in slots:
        slot.run.pk, slot.run.device = None, device
        slot.run.host, slot.run.server = study.host, study.server
        slot.run.started_at = study.started_at + timedelta(minutes=slot.order)
        slot.run.finished_at = slot.run.started_at + timedelta(seconds=50)
        # Another device is another fingerprint, as in life.
        slot.run.comparability_key = f"{device.pk:064x}"
    for slot, run in zip(slots, Run.objects.bulk_create(s.run for s in slots), strict=True):
        slot.pk, slot.study, slot.device, slot.run = None, study, device, run
        slot.candidate = candidates[slot.candidate_id]
    Slot.objects.bulk_create(slots)
    for found in pattern.recommendations.all():
        found.pk, found.study, found.device = None, study, device
        found.candidate = candidates[found.candidate_id]
        Recommendation.objects.bulk_create([found])


def _sample(seconds: int) -> None:
    """The same seconds for every run, those of a run together as in life."""
    numbers = (
        f"generate_series(0, {seconds - 1}) as numbers(second)"
        if connection.vendor == "postgresql"
        else "numbers"
    )
    before = (
        ""
        if connection.vendor == "postgresql"
        else "with recursive numbers(second) as (select 0 union all select second + 1 "
        f"from numbers where second < {seconds - 1}) "
    )
    values = {
        "elapsed_s": "1.0",
        "completed": "100 + numbers.second % 17",
        "commits": "230 + numbers.second % 29",
        "p95_ms": "80.5 + numbers.second % 13",
        "server_rss_bytes": "612000000",
        "cpu_user_pct": "60.5 + numbers.second % 5",
        "cpu_sys_pct": "18.25",
        "cpu_iowait_pct": "9.5",
        "data_write_iops": "1834.5 + numbers.second % 91",
        "data_write_mb_s": "44.1",
    }
    columns = ", ".join(f'"{name}"' for name in values)
    with connection.cursor() as cursor:
        cursor.execute(
            f'insert into benchmarks_sample (run_id, "second", {columns}) {before}'
            f"select run.id, numbers.second, {', '.join(values.values())} "
            f"from benchmarks_run run cross join {numbers} order by run.id"
        )
