"""A database as the dashboard meets it after months: for pictures and checks of all pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role, set_role
from advisor.tests import factories
from advisor.tests.device_rows import HDD, NVME, SATA, measured_on
from advisor.tests.history_rows import NEW_KERNEL, WEEK, slower, weekly
from advisor.tests.search_study import searching_study
from benchmarks.datasets.shared_folders import SharedFolder
from benchmarks.inventory.host import Refused
from benchmarks.models import Device, Host, JobState, Probe, Run, Sample
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import directory_elsewhere, made_up_host, with_inventory
from tuning.models import (
    Recommendation,
    ServerProfile,
    SlotPurpose,
    Study,
    StudyGroup,
    StudyState,
)
from tuning.requests.configs import ProfileRequest
from tuning.results.answer import store_recommendations
from tuning.results.gate import store_verdict
from tuning.server_profile.tests.made_up import output
from tuning.statistics.gate import GatePlan
from tuning.studies.server_profiles import create_profile

USER, PASSWORD = "dba", "a password"
WATCH = "Weekly look at the host"
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
    watched: Device


@transaction.atomic
def fill(*, in_full: bool = True, with_user: bool = True) -> Scene:
    """Rows of every kind; without `in_full` none that take long to store."""
    if with_user:
        set_role(User.objects.create_user(USER, password=PASSWORD), Role.ADMINISTRATOR)
    raced = raced_study()
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
    _recommended(factories.unsafe_study(name="Faster, and less safe"))
    searching_study(17)
    for place in (HDD, SATA, NVME):
        measured_on(place, connections=[8], samples=False)
    _gates(running.host)
    _has_much(running.host)
    _profiles()
    watched = _months()
    wide = large = None
    if in_full:
        wide = wide_study()
        large = _recommended(
            factories.measured_study(name="Five hundred runs", names=factories.NAMES, blocks=83)
        )
    return Scene(raced, wide, large, failed, empty, running, probed, watched)


def raced_study() -> Study:
    """A race with the seconds of some of its runs, one of which was disturbed."""
    raced = factories.raced_study()
    for one in raced.slots.filter(run__state="ok").select_related("run__workload")[:12]:
        Sample.objects.bulk_create(factories.make_samples(one.run))
    factories.disturb(raced.slots.all()[3])
    return raced


def wide_study() -> Study:
    """Long names, many candidates."""
    names = ["server-default", *(LONG_NAME.format(number) for number in range(1, 25))]
    devices = [
        factories.make_device(kind=kind, data_dir=f"/srv/{kind}-" + "long-mount-point/" * 3)
        for kind in ("hdd", "sata-ssd", "nvme", "raid")
    ]
    study = factories.measured_study(
        name="Four devices, twenty-five candidates and a name as long as it may be " * 2,
        names=names,
        device=devices[0],
        others=devices[1:],
        blocks=2,
        samples=False,
    )
    return _recommended(study)


def _recommended(study: Study) -> Study:
    """With what its figures say, instead of what the factory made up."""
    study.recommendations.all().delete()
    store_recommendations(study)
    return study


def _months() -> Device:
    """A device that was measured every week: a new kernel, then a host that became slower."""
    device = factories.make_device(kind="nvme", data_dir="/srv/watched")
    begin = timezone.now() - 26 * WEEK
    weekly(device, begin, [6300.0] * 8, name=WATCH)
    weekly(device, begin + 8 * WEEK, slower(18, 0.12, 15), name=WATCH, changed=NEW_KERNEL)
    return device


def _has_much(host: Host) -> None:
    """Directories, a server and one of each that cannot be used, and a worker that is there."""
    directories = (
        directory_elsewhere(Path("/srv/mysql"), 1, DeviceKind.SATA_SSD),
        directory_elsewhere(Path("/srv/nvme-" + "long-mount-point/" * 3), 2),
    )
    refused = Refused(
        path=Path("/opt/mysql/bin/mysqld"),
        code="not_trusted",
        reason="/opt/mysql/bin/mysqld can be changed by the user dba, so it is not started",
    )
    found = made_up_host(name=host.name, driver="tpcc-mysql", refused_servers=(refused,))
    found = found.model_copy(
        update={"directories": directories, "default_directory": directories[0].path}
    )
    with_inventory(host, found)
    now = timezone.now()
    Host.objects.filter(pk=host.pk).update(worker_seen_at=now, inspected_at=now)


def _profiles() -> None:
    """Two profiles of one server, before and after a change."""
    more_redo = {"innodb_redo_log_capacity": "4294967296"}
    for text in (output(), output(more_redo, began=1_790_086_400)):
        create_profile(ProfileRequest(text=text, memory=16 * 10**9))


def _gates(host: Host) -> None:
    """One of each verdict, one that is measured, one that was cancelled, and datasets to clone."""
    for name, candidate, pairs in (
        ("release 9.7", "whitepaper-3", 16),
        ("release 9.7", "whitepaper-1", 16),
        (
            "a name as long as the name of a branch in a pipeline may well be, and then some",
            "x",
            6,
        ),
    ):
        store_verdict(_gate(name, candidate, pairs, StudyState.FINISHED))
    _gate("nightly", "whitepaper-2", 7, StudyState.RUNNING)
    stopped = _gate("stopped", "whitepaper-2", 0, StudyState.CANCELLED)
    Study.objects.filter(pk=stopped.pk).update(reason="cancelled by dba")
    host.datasets = [
        {"device": "/srv/mysql"}
        | SharedFolder(
            Path(f"/srv/mysql/oltp-advisor/datasets/mysql-9.7.4-8d3c1f-{warehouses}w-16k"),
            server_digest="8d3c1f" + "0" * 58,
            server_version="9.7.4",
            title=f"{warehouses} warehouses" if warehouses else "",
            bytes=(warehouses + 1) * 95_000_000,
            used_at=factories.BEGIN,
        ).as_json()
        for warehouses in (0, 10, 100)
    ]
    host.save(update_fields=["datasets"])


def _gate(name: str, candidate: str, pairs: int, state: StudyState) -> Study:
    plan = GatePlan()
    study = factories.make_study(
        name=name,
        names=["server-default", candidate],
        blocks=pairs,
        template="gate",
        gate=plan.as_json(),
        state=state,
        started_at=factories.BEGIN,
        finished_at=factories.BEGIN + timedelta(minutes=9),
        end=factories.end_well,
    )
    replicates = study.slots.filter(replicate=1)
    runs = list(replicates.values_list("run", flat=True))
    replicates.delete()
    Run.objects.filter(pk__in=runs).delete()
    study.slots.update(purpose=SlotPurpose.GATE)
    study.blocks = plan.max_pairs
    study.finished_at = study.finished_at if study.is_finished else None
    study.save(update_fields=["blocks", "finished_at"])
    return study


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
            "gates": "gate-list",
            "check": "config-check",
            "profiles": "profile-list",
            "account": "account-token",
            "password": "account-password",
        }.items()
    }
    first = Study.objects.earliest("pk")
    named["device-measured"] = reverse("device-detail", args=[first.devices.get().pk])
    watched = Study.objects.filter(name=WATCH)
    for study in Study.objects.exclude(pk__in=watched[1:]).order_by("pk"):
        kind, page = ("study", "study-detail") if study.gate is None else ("gate", "gate-detail")
        named[f"{kind}-{study.pk}"] = reverse(page, args=[study.pk])
        if study.gate is not None:
            named["gate-runs"] = reverse("study-detail", args=[study.pk])
    run = Run.objects.filter(samples__isnull=False).order_by("pk").first()
    failed = Run.objects.exclude(state="ok").filter(finished_at__isnull=False).first()
    for name, one in (("run", run), ("run-failed", failed)):
        if one is not None:
            named[name] = reverse("run-detail", args=[one.pk])
    probed = Device.objects.filter(probes__isnull=False).first()
    if probed is not None:
        named["device"] = reverse("device-detail", args=[probed.pk])
    if (seen := watched.first()) is not None:
        named["device-watched"] = reverse("device-detail", args=[seen.devices.get().pk])
    raced = Study.objects.earliest("pk")
    sides = [f"side=candidate-{one.pk}" for one in raced.candidates.order_by("position")[:3]]
    named["compare"] = f"{reverse('compare')}?{'&'.join(sides)}"
    before, after = ServerProfile.objects.order_by("pk").values_list("pk", flat=True)
    named["profile"] = reverse("profile-detail", args=[before])
    named["profile-comparison"] = f"{reverse('profile-comparison')}?before={before}&after={after}"
    named["compare-empty"] = reverse("compare")
    named["config"] = reverse("config-detail", args=[raced.candidates.latest("pk").config_id])
    named["help"] = reverse("help")
    named["host"] = reverse("host-detail", args=[raced.host_id])
    named["datasets"] = reverse("host-datasets", args=[raced.host_id])
    probe = Probe.objects.filter(state=JobState.OK).first()
    if probe is not None:
        named["probe"] = reverse("probe-detail", args=[probe.device_id, probe.pk])
    unsafe = Recommendation.objects.filter(durability="D2").first()
    if unsafe is not None:
        named["export"] = reverse("study-export", args=[unsafe.study_id, unsafe.pk])
    group = StudyGroup.objects.first()
    if group is not None:
        named["group"] = reverse("group-detail", args=[group.pk])
    return named
