"""More rows of the dashboard for its pictures: what pauses, fails, is refused, and other hosts."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role
from advisor.tests import factories, probes
from benchmarks.models import Device, Host, JobState, Probe, Run
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import directory_elsewhere, made_up_host, with_inventory
from tuning.models import Study, StudyGroup, StudyState

VIEWER = "reader"
LONG_HOST = "db-replica-17.eu-central-1.production.databases.internal.example.org"


@transaction.atomic
def fill_states() -> dict[str, str]:
    """Studies, devices and probes that are seldom seen; their pages by name.

    After `dashboard_scene.fill`.
    """
    viewer = factories.make_user(VIEWER, Role.VIEWER)
    viewer.set_password(VIEWER)
    viewer.save()
    now = timezone.now()
    paused = _study(
        "Paused for the backup of the night",
        state=StudyState.RUNNING,
        paused_at=now - timedelta(minutes=20),
        paused_by="dba",
        pause_reason="the backup runs until four",
        ended=7,
    )
    cancelled = _study(
        "Cancelled half way",
        state=StudyState.CANCELLED,
        reason="cancelled by dba",
        finished_at=factories.BEGIN + timedelta(minutes=4),
        ended=9,
    )
    Run.objects.filter(slot__study=cancelled, state="queued").update(state="cancelled")
    refused = factories.gate(
        factories.make_study(name="What the server refuses or changes", blocks=2)
    )
    _end(refused, 5)
    found = probes.array(path=Path("/srv/array"))
    array = factories.probed_device(found, result=probes.probe_result(found))
    emulated = factories.emulated_device(data_dir="/srv/emulated")
    probing = factories.found_device(probes.identity(path=Path("/srv/probing")))
    failed = _probe(
        emulated,
        JobState.FAILED,
        reason="fio ended with status 1: no space left on device",
        reason_code="disk_full",
        finished_at=now - timedelta(hours=1),
    )
    _probe(probing, JobState.RUNNING, fraction=0.4, step="random writes, queue depth 16")
    factories.found_device(
        probes.identity(path=Path("/srv/gone")), retired_at=now - timedelta(days=3)
    )
    studies = {"paused": paused, "cancelled": cancelled, "refused": refused}
    devices = {"array": array, "emulated": emulated, "probing": probing}
    return {
        **{f"study-{name}": _page("study-detail", one) for name, one in studies.items()},
        **{f"device-{name}": _page("device-detail", one) for name, one in devices.items()},
        "probe-failed": reverse("probe-detail", args=[emulated.pk, failed.pk]),
    }


@transaction.atomic
def fill_fleet() -> dict[str, str]:
    """Hosts in every state, and a study over two of them; their pages by name.

    After `dashboard_scene.fill`: from here on pages name the hosts.
    """
    now = timezone.now()
    group = StudyGroup.objects.create(name="Which of our disks need which config?")
    slow = factories.make_device(host=_host("db-2"), kind="hdd", data_dir="/srv/disk")
    factories.measured_study(device=slow, blocks=2, group=group)
    fast = factories.make_device(host=_host(LONG_HOST), kind="nvme")
    running = factories.make_study(
        device=fast, blocks=2, group=group, state=StudyState.RUNNING, started_at=now
    )
    _end(running, 3)
    factories.begin(running, step="warming up")
    drained = _host(
        "db-4", drained_at=now, drained_by="dba", drain_reason="new memory is being built in"
    )
    waiting = factories.make_device(host=drained, data_dir="/srv/four")
    queued = factories.make_study(name="Waits for a drained host", device=waiting, blocks=1)
    _host("db-5", retired_at=now, retired_by="dba", retire_reason="sold")
    silent = _host("db-6", seen_at=now - timedelta(hours=7))
    driver = _host("load-1", servers=())
    Host.objects.create(name="db-8", worker_seen_at=now)
    return {
        "group": _page("group-detail", group),
        "host-drained": _page("host-detail", drained),
        "host-silent": _page("host-detail", silent),
        "host-driver": _page("host-detail", driver),
        "study-queued": _page("study-detail", queued),
        "studies-of-host": f"{reverse('study-list')}?host=db-4",
    }


def _study(name: str, *, ended: int, **values: Any) -> Study:
    """Of which so many runs have ended."""
    facts: dict[str, Any] = {"name": name, "blocks": 3, "started_at": factories.BEGIN}
    study = factories.make_study(**(facts | values))
    _end(study, ended)
    return study


def _end(study: Study, runs: int) -> None:
    slots = study.slots.select_related("run__slot__candidate", "run__workload", "run__config")
    for slot in slots[:runs]:
        factories.finish(slot.run)


def _probe(device: Device, state: JobState, **values: Any) -> Probe:
    started = timezone.now() - timedelta(seconds=20)
    facts: dict[str, Any] = {"seconds": 50, "started_at": started, "heartbeat_at": started}
    return Probe.objects.create(device=device, state=state, **(facts | values))


def _host(name: str, *, seen_at: datetime | None = None, servers: Any = None, **row: Any) -> Host:
    """With a worker and an inventory; it was seen just now unless `seen_at`."""
    more = {} if servers is None else {"servers": servers}
    place = directory_elsewhere(Path("/srv/mysql"), 1, DeviceKind.NVME)
    found = made_up_host(name=name, **more).model_copy(
        update={"directories": (place,), "default_directory": place.path}
    )
    host = with_inventory(factories.make_host(name), found)
    seen = seen_at or timezone.now()
    Host.objects.filter(pk=host.pk).update(worker_seen_at=seen, inspected_at=seen, **row)
    host.refresh_from_db()
    return host


def _page(view: str, thing: Any) -> str:
    return reverse(view, args=[thing.pk])
