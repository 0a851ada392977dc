"""A real file system, small enough to be filled, below a study whose servers are made up."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from advisor.tests import fake_measuring
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import RunState
from benchmarks.storage.reserve import VARIABLE, room_of
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.made_up_host import this_host
from tuning.creation.create import create_study
from tuning.models import Study
from tuning.requests.study import StudyRequest
from tuning.studies.scheduler import EXECUTE, advance_host
from tuning.tests import fakes
from tuning.tests.work import execute_run

pytestmark = pytest.mark.django_db(transaction=True)

MIB = 1024**2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The mount point of an ext4 file system of 512 MiB in a file."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not installed")
    image, place = tmp_path / "disk.ext4", tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(512 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    place.mkdir()
    mount = ["mount", "-o", "loop", str(image), str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted from a file here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def study(
    host_of_fakes: None,
    sent: list[Any],
    small_disk: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Study:
    """One block on the small disk, prepared; each step of a run takes a moment."""
    settings.DEFAULT_DEVICE = small_disk
    this_host(servers=[fakes.BINARY], driver=FakeDriver.name, directories=[small_disk])
    monkeypatch.setattr(fake_measuring, "STEPS", {"cloning the dataset": 0.05, "measuring": 0.2})
    monkeypatch.setattr(fake_measuring, "STOPPING_S", 0.0)
    monkeypatch.setenv(VARIABLE, "16M")
    study = create_study(
        StudyRequest(
            template="compare", configs=[fakes.MINE], blocks=1, races=False, confirms=False
        )
    )
    fakes.begin(study)
    return study


@pytest.mark.slow
def test_a_run_that_meets_the_reserve_is_void_and_its_study_waits_for_room(
    study: Study, small_disk: Path, sent: list[Any], client: Client, admin_user: User
) -> None:
    filling, clones = small_disk / "filling", []

    def meet_the_reserve(plan: Plan, *, report: Callable[[str], None], **how: Any) -> Measurement:
        def report_and_fill(step: str) -> None:
            report(step)
            if step == "measuring":
                clones.append(plan.layout.run_dir(plan.name))
                assert clones[0].is_dir()
                with filling.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, room_of(small_disk).free - 12 * MIB)

        return fake_measuring.measure(plan, report=report_and_fill, **how)

    run = study.slots.order_by("order")[0].run
    assert execute_run(run.pk, measure=meet_the_reserve)
    run.refresh_from_db()
    assert (run.state, run.throughput, run.completed) == (RunState.DISK_FULL, None, None)
    assert not run.samples.exists()
    assert f"{small_disk}: 1" in run.reason  # the MB that are free; the disk's own rounding
    assert "16.8 MB stay free" in run.reason
    assert [path.exists() for path in clones] == [False]

    sent.clear()
    advance_host(study.host_id)
    study.refresh_from_db()
    again = run.retries.get()
    assert study.is_paused
    assert (study.paused_by, study.pause_reason) == ("the advisor", run.reason)
    client.force_login(admin_user)
    page = client.get(f"/studies/{study.pk}/").content.decode()
    assert "by the advisor" in page
    assert "16.8 MB stay free" in page
    assert not execute_run(again.pk, measure=fake_measuring.measure)
    assert sent == []

    filling.unlink()
    client.post(f"/studies/{study.pk}/actions/resume/")
    for _ in study.slots.all():
        assert sent[-1][0] == EXECUTE
        assert execute_run(sent[-1][1], measure=fake_measuring.measure)
        advance_host(study.host_id)
    again.refresh_from_db()
    assert again.state == RunState.OK
    assert again.throughput is not None
    assert not list((small_disk / "oltp-advisor" / "runs").iterdir())
