"""Planning looks at no machine: all that it needs of a host stands with the host's row."""

from __future__ import annotations

import builtins
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from celery import current_app

from benchmarks.errors import NotInspected, NotListed
from benchmarks.models import Host
from benchmarks.storage import identify
from benchmarks.tests.made_up_host import (
    GB,
    MYSQL,
    directory_elsewhere,
    made_up_host,
    with_inventory,
)
from tuning.configs.line import Fate
from tuning.creation.config_check import check_text
from tuning.creation.create import create_study
from tuning.creation.devices import register_device
from tuning.creation.hosts import cpus_of, host_for
from tuning.creation.plan import plan_of
from tuning.creation.search import search_of
from tuning.errors import BadRequest, TuningError
from tuning.hosts.commands import start_probe
from tuning.models import Study
from tuning.requests.device import DeviceRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.studies import scheduler

pytestmark = pytest.mark.django_db(transaction=True)

FAST, SLOW = Path("/srv/far/fast"), Path("/srv/far/slow")
SERVER = replace(MYSQL, path=Path("/opt/far/mysqld"))
# Not all of /srv: this checkout may lie there.
FAR = ("/srv/far", "/opt/far")


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch, no_look_at_this_machine: None) -> Host:
    """A host of 64 CPUs whose paths do not exist here."""
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    inventory = made_up_host(
        servers=[SERVER], logical_cpus=64, memory_bytes=512 * GB, memory_budget_bytes=512 * GB
    )
    there = tuple(directory_elsewhere(path, number) for number, path in enumerate((FAST, SLOW)))
    inventory = inventory.model_copy(update={"default_directory": FAST, "directories": there})
    return with_inventory(Host.objects.create(name="far"), inventory)


@pytest.fixture
def no_look_at_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: Any, **_: Any) -> Any:
        pytest.fail(f"planning looked at this machine: {arguments}")

    for name in ("Popen", "run", "check_output"):
        monkeypatch.setattr(subprocess, name, forbidden)
    for name in ("fork", "posix_spawn", "sched_getaffinity", "statvfs", "sysconf"):
        monkeypatch.setattr(os, name, forbidden)
    for name in ("cpu_count", "cpu_freq", "virtual_memory"):
        monkeypatch.setattr(psutil, name, forbidden)
    for module, name in ((identify, "identify_device"), (identify, "supports_direct_io")):
        monkeypatch.setattr(module, name, forbidden)
    really_open = builtins.open

    def guarded(path: Any, *arguments: Any, **options: Any) -> Any:
        if str(path).startswith(("/proc", "/sys", *FAR)):
            forbidden(path)
        return really_open(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", guarded)
    monkeypatch.setattr("io.open", guarded)
    really_stat = os.stat

    def stat(path: Any, *arguments: Any, **options: Any) -> Any:
        if str(path).startswith(FAR):
            forbidden(path)
        return really_stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat)


def test_a_study_is_planned_from_what_its_host_has(far: Host) -> None:
    devices = [DeviceRequest(path=FAST), DeviceRequest(path=SLOW, emulate="hdd", memory_mb=8000)]
    study = create_study(StudyRequest(template="connections", host="far", devices=devices))
    assert study.host == far
    assert (study.server.path, study.server.host) == (str(SERVER.path), far)
    assert study.memory_bytes == 512 * GB
    assert max(study.workloads.values_list("connections", flat=True)) == 16 * 64
    assert set(study.devices.values_list("data_dir", "kind")) == {
        (str(FAST), "nvme"),
        (str(SLOW), "hdd"),
    }
    # Not named: the host's own.
    usual = create_study(StudyRequest(host="far", server=SERVER.path))
    assert usual.devices.get().data_dir == str(FAST)


def test_a_search_a_check_and_a_probe_too(far: Host) -> None:
    request = StudyRequest(template="search", search=SearchRequest(), host="far")
    assert "innodb_buffer_pool_size" in search_of(plan_of(request)).space.names
    for asked, fits in ((600, False), (300, True)):
        text = b"[mysqld]\ninnodb_buffer_pool_size = %dG\n" % asked
        [line] = check_text(text, name="mine", host="far").report.lines
        assert (line.fate is Fate.MEASURED) == fits
        assert ("does not fit into the" in line.reason) != fits
    assert start_probe(register_device(DeviceRequest(path=SLOW), "far")).device.host == far


def test_what_another_host_has_cannot_be_used_there(far: Host) -> None:
    for request, field in (
        (StudyRequest(host="far", server=Path("/usr/sbin/mysqld")), "server"),
        (
            StudyRequest(host="far", devices=[DeviceRequest(path=Path("/srv/far"))]),
            "devices[0].path",
        ),
    ):
        with pytest.raises(
            NotListed, match=r"on host far: run .*manage\.py (server|device)"
        ) as no:
            create_study(request)
        assert no.value.field == field
    assert not Study.objects.exists()


def test_the_host_is_named_or_the_only_one_or_this_machine(far: Host, settings: Any) -> None:
    settings.HOST_NAME = "web"
    assert host_for() == far
    assert cpus_of() == 64
    near = Host.objects.create(name="near")
    with pytest.raises(BadRequest, match="name one of the hosts: far, near") as no:
        host_for()
    assert no.value.field == "host"
    settings.HOST_NAME = "near"
    assert host_for() == near
    assert host_for("far") == far
    with pytest.raises(BadRequest, match="no host 'fra'; there are: far, near"):
        host_for("fra")
    with pytest.raises(NotInspected):
        create_study(StudyRequest(host="near"))
    assert cpus_of("near") == 1
    Host.objects.filter(name="near").update(retired_at="2026-11-01T00:00Z")
    assert host_for() == far
    with pytest.raises(TuningError, match="was retired"):
        create_study(StudyRequest(host="near"))
    Host.objects.all().delete()
    with pytest.raises(TuningError) as none:
        host_for()
    assert none.value.code == "no_host"


def test_a_study_waits_for_a_host_that_was_not_inspected_by_this_version(
    far: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study(StudyRequest(host="far"))

    def missing(*_: Any) -> None:
        raise NotInspected("not yet")

    monkeypatch.setattr(scheduler, "_decide", missing)
    scheduler.advance_host(far.pk)
    study.refresh_from_db()
    assert study.state in ("queued", "preparing")
