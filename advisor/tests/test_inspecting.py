"""A path that is typed in becomes a job of its host, with its answer beside the field."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.db.models.functions import Now

from advisor import worker
from advisor.tests import factories
from benchmarks.errors import NotListed
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.engine import execute
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.jobs.locks import measuring_alone
from benchmarks.models import Host, Inspection, ListedPath, Run, RunState
from benchmarks.servers.binary import ServerBinary
from benchmarks.tests.made_up_host import made_up_host, this_host
from tuning.errors import BadRequest, TuningError
from tuning.hosts.commands import (
    MAX_WAITING,
    drain_host,
    inspect_again,
    inspect_device,
    inspect_server,
    waiting_text,
)
from tuning.models import Study, StudyState
from tuning.requests.device import DeviceRequest
from tuning.studies.commands import cancel_study
from tuning.studies.scheduler import EXECUTE, advance_host

pytestmark = pytest.mark.django_db(transaction=True)

Sent = list[tuple[str, int]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    messages: Sent = []
    monkeypatch.setattr(
        current_app, "send_task", lambda name, args, **_: messages.append((name, args[0]))
    )
    return messages


@pytest.fixture
def host(sent: Sent, settings: Any, tmp_path: Path) -> Host:
    settings.RUN_DIR = tmp_path
    host = this_host(directories=[tmp_path / "device"])
    Host.objects.update(worker_seen_at=Now())
    return host


def done(row: Inspection) -> Inspection:
    """The inspection after its worker was woken."""
    assert execute(InspectionKind(), row.pk)
    row.refresh_from_db()
    assert row.is_finished
    return row


def paths(host: Host) -> set[str]:
    host.refresh_from_db()
    found = inventory_of(host)
    return {str(one.path) for one in found.servers} | {str(one.path) for one in found.directories}


def test_a_server_that_an_administrator_types_in_is_inspected_and_listed(
    host: Host, sent: Sent, mariadb_binary: ServerBinary
) -> None:
    row = inspect_server(host, str(mariadb_binary.path), lists=True)
    assert sent == [(InspectionKind.task, row.pk)]
    assert "as soon as nothing is measured" in waiting_text(row)
    assert done(row).state == "ok"
    assert row.answer == {
        "path": str(mariadb_binary.path),
        "flavour": "mariadb",
        "version": mariadb_binary.version_text,
    }
    assert waiting_text(row) == ""
    host.refresh_from_db()
    assert inventory_of(host).server(mariadb_binary.path) == mariadb_binary
    assert ListedPath.objects.get().path == str(mariadb_binary.path)
    # From now on anybody may ask for it again.
    assert done(inspect_server(host, str(mariadb_binary.path), lists=False)).state == "ok"


def test_a_device_too_and_what_is_wrong_is_said_beside_its_field(
    host: Host, tmp_path: Path
) -> None:
    there = tmp_path / "srv"
    there.mkdir()
    row = done(inspect_device(host, DeviceRequest(path=there, log_dir=tmp_path), lists=True))
    assert row.answer is not None
    assert row.answer["data"]["path"] == str(there)
    assert row.answer["log"]["path"] == str(tmp_path)
    assert {str(there), str(tmp_path)} < paths(host)
    for request, code, field in (
        (DeviceRequest(path=tmp_path / "gone"), "device_unusable", "path"),
        (DeviceRequest(path=there, log_dir=Path("/proc")), "device_unusable", "log_dir"),
        (DeviceRequest(path=there, log_dir=there), "device_unusable", "log_dir"),
        (DeviceRequest(path=Path("/dev/shm"), emulate="hdd"), "emulation_unavailable", "emulate"),
    ):
        row = done(inspect_device(host, request, lists=True))
        assert (row.state, row.reason_code, row.reason_field) == ("failed", code, field)
        assert row.reason
    row = done(inspect_server(host, "/bin/true", lists=True))
    assert (row.reason_code, row.reason_field) == ("not_a_server", "server")
    # A slip of the keyboard leaves no trace.
    host.refresh_from_db()
    assert inventory_of(host).refused_servers == inventory_of(host).refused_directories == ()
    # What was there and is gone is not offered any more.
    there.rmdir()
    assert done(inspect_device(host, DeviceRequest(path=there), lists=False)).state == "failed"
    assert str(there) not in paths(host)
    assert str(there) in {str(one.path) for one in inventory_of(host).refused_directories}


def test_only_an_administrator_names_what_the_host_does_not_have(host: Host, sent: Sent) -> None:
    with pytest.raises(NotListed, match=r"manage\.py server add /opt/mysqld") as no:
        inspect_server(host, "/opt/mysqld", lists=False)
    assert no.value.field == "server"
    with pytest.raises(NotListed, match=r"manage\.py device add /srv/x") as no:
        inspect_device(host, DeviceRequest(path=Path("/srv/x")), lists=False)
    assert no.value.field == "path"
    with pytest.raises(BadRequest, match="not an absolute path"):
        inspect_server(host, "mysqld", lists=True)
    assert (sent, Inspection.objects.count()) == ([], 0)


def test_the_whole_host_is_looked_at_again(host: Host, settings: Any, tmp_path: Path) -> None:
    settings.DEFAULT_DEVICE = tmp_path / "usual"
    Host.objects.update(inventory={})
    assert done(inspect_again(host)).state == "ok"
    assert str(tmp_path / "usual") in paths(host)


def measured_run(host: Host) -> tuple[Study, Run]:
    study = factories.make_study(blocks=1, state=StudyState.RUNNING)
    Study.objects.update(host=host)
    Run.objects.update(host=host)
    run = study.slots.order_by("order")[0].run
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    return study, run


def test_what_is_cancelled_ends_although_an_inspection_waits(host: Host, sent: Sent) -> None:
    study = factories.make_study(device=factories.make_device(host=host))
    inspect_again(host)  # and another advisor measures on this machine
    cancel_study(study)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.CANCELLED, "cancelled")


def test_an_inspection_waits_for_the_run_and_the_next_run_for_it(
    host: Host, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = partial(measuring_alone, patience_s=0.1)
    monkeypatch.setattr("benchmarks.jobs.engine.measuring_alone", hurried)
    _, run = measured_run(host)
    row = inspect_again(host)
    assert sent == []
    assert "as soon as nothing is measured" in waiting_text(row)
    with measuring_alone() as held:
        assert held
        assert not execute(InspectionKind(), row.pk)  # a message that came too early
    Run.objects.filter(pk=run.pk).update(state=RunState.LOST, claimed_by="")
    advance_host(host.pk)
    assert sent == [(InspectionKind.task, row.pk)]
    sent.clear()
    done(row)
    advance_host(host.pk)
    assert [task for task, _ in sent] == [EXECUTE]


def test_a_drained_host_looks_and_a_retired_or_flooded_one_does_not(host: Host) -> None:
    drain_host(host)
    assert done(inspect_again(host)).state == "ok"
    Host.objects.update(worker_seen_at=None)
    row = inspect_again(host)
    assert "which does not report" in waiting_text(row)
    for _ in range(MAX_WAITING - 1):
        inspect_again(host)
    with pytest.raises(TuningError) as busy:
        inspect_again(host)
    assert busy.value.code == "host_busy"
    Host.objects.update(retired_at=Now())
    host.refresh_from_db()
    with pytest.raises(TuningError) as retired:
        inspect_again(host)
    assert retired.value.code == "host_retired"


def test_a_worker_that_starts_beside_a_measurement_looks_later(
    host: Host, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Host] = []

    def look(found: Host) -> HostInventory:
        looked.append(found)
        return made_up_host()

    monkeypatch.setattr("benchmarks.inventory.inspection.inspect_here", look)
    with measuring_alone() as held:
        assert held
        worker.inspect()
        assert (looked, [task for task, _ in sent]) == ([], [InspectionKind.task])
        Host.objects.update(inventory={})
        worker.inspect()
    assert looked == [host]
    worker.inspect()
    assert looked == [host, host]
