"""The pages of hosts: what each does, its queue, what is wrong; draining on the page."""

from __future__ import annotations

import html
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from advisor.tests import factories
from advisor.tests.drawn import flat
from benchmarks.inventory.host import FoundDriver, Refused
from benchmarks.models import Host, JobState, LoadJob, Probe, Run, RunState
from benchmarks.tests.made_up_host import made_up_host, with_inventory
from tuning.hosts.known import hosts, known_hosts
from tuning.models import Study, StudyState
from tuning.studies.current_jobs import HostState

pytestmark = pytest.mark.django_db


def a_host(name: str = "db-host-1", **facts: Any) -> Host:
    """With a worker that was seen just now and said what it has."""
    host = with_inventory(factories.make_host(name), made_up_host(**facts))
    Host.objects.filter(pk=host.pk).update(worker_seen_at=Now())
    return host


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return html.unescape(flat(answer)).replace("\N{NO-BREAK SPACE}", " ")


def measuring(host: Host, name: str = "Which is best?") -> Study:
    study = factories.make_study(
        name=name,
        device=factories.make_device(host=host, data_dir=f"/srv/{host.pk}"),
        state=StudyState.RUNNING,
        started_at=timezone.now(),
        blocks=1,
    )
    run = study.slots.order_by("order")[0].run
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, started_at=timezone.now(), step="warming up"
    )
    return study


def fleet(name: str) -> Host:
    """A host with all that a page can show of one: a run, a queue, a verdict, a failure."""
    host = a_host(name)
    study = measuring(host)
    device = study.devices.get()
    factories.measured_study(device=device, blocks=1)
    for state in (StudyState.QUEUED, StudyState.FAILED):
        factories.make_study(
            device=device, blocks=0, state=state, reason="no room", finished_at=timezone.now()
        )
    Probe.objects.create(device=device, seconds=50, state=JobState.QUEUED)
    return host


def state_of(host: Host) -> HostState:
    [known] = known_hosts(hosts().filter(pk=host.pk))
    return known.state


def test_one_host_is_simply_this_host(admin_client: Client) -> None:
    host = a_host()
    text = text_of(admin_client, reverse("host-list"))
    assert f"This host: {host}" in text
    assert "Nothing runs and nothing waits." in text
    assert "Drain host" in text
    a_host("db-host-2")
    text = text_of(admin_client, reverse("host-list"))
    assert "This host" not in text
    assert "2 idle." in text


def test_the_page_says_what_each_host_does_and_what_waits(admin_client: Client) -> None:
    busy, quiet = fleet("busy"), a_host("quiet")
    text = text_of(admin_client, reverse("host-list"))
    assert "1 measuring, 1 idle." in text
    assert "block 1, warming up" in text
    assert "1 study, 1 probe" in text
    assert "measurably best, not confirmed" in text
    assert "Quick comparison failed: no room." in text
    text = text_of(admin_client, reverse("host-detail", args=[busy.pk]))
    [waits] = Study.objects.filter(state=StudyState.QUEUED)
    assert f"study {waits.pk}, created" in text
    assert "Probe of SATA SSD" in text
    assert "Nothing waits." in text_of(admin_client, reverse("host-live", args=[quiet.pk]))


def test_states_follow_from_the_rows() -> None:
    host = a_host()
    assert state_of(host) == HostState.IDLE
    study = measuring(host)
    assert state_of(host) == HostState.MEASURING
    Host.objects.update(drained_at=timezone.now())
    assert state_of(host) == HostState.DRAINING
    Run.objects.filter(state=RunState.RUNNING).update(state=RunState.OK)
    assert state_of(host) == HostState.DRAINED
    Host.objects.update(drained_at=None)
    assert state_of(host) == HostState.WAITING
    [run] = Run.objects.filter(step="warming up")
    elsewhere = a_host("load-host")
    LoadJob.objects.create(run=run, host=elsewhere, state=JobState.RUNNING, step="warm-up")
    assert state_of(elsewhere) == HostState.DRIVING
    LoadJob.objects.update(state=JobState.OK)
    assert state_of(elsewhere) == HostState.IDLE
    elsewhere.load_jobs.all().delete()
    elsewhere.delete()
    Study.objects.update(state=StudyState.PREPARING, claimed_by="a process")
    assert state_of(host) == HostState.PREPARING
    Study.objects.update(state=StudyState.CANCELLED)
    Probe.objects.create(
        device=study.devices.get(), seconds=50, state=JobState.RUNNING, fraction=0.4
    )
    assert state_of(host) == HostState.PROBING
    [known] = known_hosts(hosts())
    assert known.job is not None
    assert known.job.step == "40 %"
    Host.objects.update(worker_seen_at=Now() - timedelta(seconds=31))
    assert state_of(host) == HostState.SILENT
    Host.objects.update(worker_seen_at=None)
    [known] = known_hosts(hosts())
    assert [problem.code for problem in known.problems] == ["no_worker"]


def test_the_page_says_what_a_host_has_and_lacks(admin_client: Client, tmp_path: Path) -> None:
    refused = Refused(
        path=Path("/opt/mysqld"), code="not_a_server", reason="/opt/mysqld: a script"
    )
    host = a_host(
        directories=[tmp_path],
        refused_servers=(refused,),
        drivers=(
            FoundDriver(name="tpcc-mysql", version="1", encrypts=False),
            FoundDriver(name="sysbench", version="1.0.20"),
        ),
        load_address="10.0.0.11",
        load_needs_tls=True,
    )
    text = text_of(admin_client, reverse("host-detail", args=[host.pk]))
    for words in ("MySQL 9.7.4", "/usr/sbin/mysqld", "24.0 GB", "2.00 GHz"):
        assert words in text
    assert "tpcc-mysql 1 (no TLS), sysbench 1.0.20<" in text
    assert "<dd>10.0.0.11, with TLS</dd>" in text
    assert ">Register</a>" in text
    device = factories.make_device(host=host, data_dir=str(tmp_path))
    text = text_of(admin_client, reverse("host-detail", args=[host.pk]))
    assert f'{reverse("device-detail", args=[device.pk])}">Device {device.pk}</a>' in text
    assert ">Register</a>" not in text
    assert "refused</span> /opt/mysqld: a script" in text
    a_host("bare", servers=(), drivers=())
    text = text_of(admin_client, reverse("host-list"))
    assert f"Free: {tmp_path} " in text
    for problem in ("refused server", "no server", "no driver"):
        assert f"{problem}</span>" in text
    driver = a_host("driver1", servers=())
    [known] = known_hosts([driver])
    assert known.problems == []
    text = text_of(admin_client, reverse("host-detail", args=[driver.pk]))
    assert "A load host" in text
    factories.make_host("new")
    Host.objects.filter(name="new").update(worker_seen_at=Now(), inventory={})
    assert "not inspected</span>" in text_of(admin_client, reverse("host-list"))


@pytest.mark.long
def test_fifty_hosts_take_no_more_queries_than_two(admin_client: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            text_of(admin_client, reverse("host-list"))
        return len(asked)

    for number in range(2):
        fleet(f"host-{number}")
    few = queries()
    study = Study.objects.filter(state=StudyState.RUNNING)[0]
    many = Host.objects.bulk_create(
        Host(name=f"more-{number}", worker_seen_at=timezone.now()) for number in range(48)
    )
    for host in many:
        device = factories.make_device(host=host, data_dir=f"/srv/{host.pk}")
        for state in (StudyState.QUEUED, StudyState.FAILED):
            Study.objects.create(
                name="any",
                host=host,
                server=study.server,
                blocks=1,
                seed=1,
                state=state,
                finished_at=timezone.now(),
            )
        Probe.objects.create(device=device, seconds=50, state=JobState.QUEUED)
    assert queries() == few
    assert few <= 22


# --- the commands --------------------------------------------------------------------------------


def test_hosts_and_studies_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    fleet("busy[1]")  # no markup
    factories.make_study(device=factories.make_device(host=factories.make_host("db2")), blocks=0)
    call_command("host", "list")
    told = capsys.readouterr().out
    [line] = [line for line in told.splitlines() if "busy[1]" in line]
    for words in ("Measuring", "block 1", "Quick comparison failed: no room"):
        assert words in line
    assert "its worker was never seen" in told
    call_command("host", "list", "--json")
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["busy[1]", "db2"]
    call_command("study", "list")
    told = capsys.readouterr().out
    for words in ("Which is best?", "Measuring", "no room", "db2", "waiting"):
        assert words in told
    call_command("study", "list", "--host", "db2", "--json")
    assert [one["host"] for one in json.loads(capsys.readouterr().out)] == ["db2"]
    call_command("study", "list", "--limit", "1", "--json")
    assert len(json.loads(capsys.readouterr().out)) == 1
    for wrong in (["--limit", "0"], ["--host", "nobody"]):
        with pytest.raises(SystemExit, match="2"):
            call_command("study", "list", *wrong)
