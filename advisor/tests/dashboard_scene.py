"""A database as the dashboard meets it after months: for pictures and checks of all pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role, set_role
from advisor.tests import factories
from advisor.tests.device_rows import HDD, NVME, SATA, measured_on
from benchmarks.models import Device, Run, Sample
from tuning.models import Study, StudyState

USER, PASSWORD = "dba", "a password"
LONG_NAME = (
    "innodb-flush-neighbors-off-with-io-capacity-of-twenty-thousand-"
    "and-redo-of-16-gb-on-nvme-disk-{:02}"
)


@dataclass(frozen=True)
class Scene:
    """What the pages are about. `large`: 500 slots; `wide`: long names, many candidates."""

    raced: Study
    wide: Study | None
    large: Study | None
    failed: Study
    empty: Study
    running: Study
    probed: Device


@transaction.atomic
def fill(*, in_full: bool = True, with_user: bool = True) -> Scene:
    """Rows of every kind; without `in_full` none that take long to store."""
    if with_user:
        set_role(User.objects.create_user(USER, password=PASSWORD), Role.ADMINISTRATOR)
    raced = factories.raced_study()
    for one in raced.slots.filter(run__state="ok").select_related("run__workload")[:12]:
        Sample.objects.bulk_create(factories.make_samples(one.run))
    factories.disturb(raced.slots.all()[3])
    probed = factories.probed_device(data_dir="/srv/probed")
    failed = factories.make_study(
        state=StudyState.FAILED,
        name="All candidates failed",
        blocks=1,
        reason="no candidate could be measured: the server did not start with any of them",
        started_at=factories.BEGIN,
        finished_at=factories.BEGIN + timedelta(minutes=1),
    )
    for slot in failed.slots.select_related("run__slot"):
        factories.fail(slot.run)
    empty = factories.make_study(name="Waits for its host", blocks=1)
    running = factories.make_study(
        state=StudyState.RUNNING,
        name="Runs now",
        blocks=2,
        started_at=timezone.now() - timedelta(minutes=3),
    )
    for slot in running.slots.select_related("run__slot__candidate", "run__workload")[:7]:
        factories.finish(slot.run)
    for place in (HDD, SATA, NVME):
        measured_on(place, connections=[8], samples=False)
    wide = large = None
    if in_full:
        names = ["server-default", *(LONG_NAME.format(number) for number in range(1, 25))]
        devices = [
            factories.make_device(kind=kind, data_dir=f"/srv/{kind}-" + "long-mount-point/" * 3)
            for kind in ("hdd", "sata-ssd", "nvme", "raid")
        ]
        wide = factories.measured_study(
            name="Four devices, twenty-five candidates and a name as long as it may be " * 2,
            names=names,
            device=devices[0],
            others=devices[1:],
            blocks=2,
            samples=False,
        )
        large = factories.measured_study(
            name="Five hundred runs", names=factories.NAMES, blocks=83
        )
    return Scene(raced, wide, large, failed, empty, running, probed)


def pages() -> dict[str, str]:
    """Every page with something to show, by a name for its picture."""
    named = {
        name: reverse(view)
        for name, view in {
            "home": "home",
            "studies": "study-list",
            "new-study": "study-new",
            "devices": "device-list",
            "device-comparison": "device-comparison",
            "hosts": "host-list",
            "check": "config-check",
            "account": "account-token",
            "password": "account-password",
            "webhooks": "account-webhooks",
        }.items()
    }
    for study in Study.objects.order_by("pk"):
        named[f"study-{study.pk}"] = reverse("study-detail", args=[study.pk])
    run = Run.objects.filter(samples__isnull=False).order_by("pk").first()
    failed = Run.objects.exclude(state="ok").filter(finished_at__isnull=False).first()
    for name, one in (("run", run), ("run-failed", failed)):
        if one is not None:
            named[name] = reverse("run-detail", args=[one.pk])
    probed = Device.objects.filter(probes__isnull=False).first()
    if probed is not None:
        named["device"] = reverse("device-detail", args=[probed.pk])
    raced = Study.objects.earliest("pk")
    sides = [f"side=candidate-{one.pk}" for one in raced.candidates.order_by("position")[:3]]
    named["compare"] = f"{reverse('compare')}?{'&'.join(sides)}"
    named["compare-empty"] = reverse("compare")
    named["config"] = reverse("config-detail", args=[raced.candidates.latest("pk").config_id])
    named["report"] = reverse("study-report", args=[raced.pk])
    named["help"] = reverse("help")
    named["host"] = reverse("host-detail", args=[Study.objects.earliest("pk").host_id])
    return named
