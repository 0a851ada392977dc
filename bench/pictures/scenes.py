"""The pictures of docs/tutorial/first-study.md, from the empty home page to the my.cnf.

`make pictures` takes them, each from the rows that are there then.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role, set_role
from advisor.tests import factories
from advisor.tests.dashboard_scene import PASSWORD, USER
from advisor.tests.history_rows import WEEK, slower, weekly
from benchmarks.models import Host, Run
from benchmarks.telemetry.live import LiveSecond
from benchmarks.tests.made_up_host import directory_of, made_up_host, with_inventory
from tuning.models import Study

WIDTH = 1280
DATA_DIR = Path("/srv/mysql")
#: In the order in which they are taken.
NAMES = ("first-steps", "new-study", "under-way", "answer", "my-cnf", "history")
# Name, throughput and p95 in ms about which the runs of the template `first-answer` scatter here.
_CANDIDATES = (
    ("server-default", 6120.0, 148.0),
    ("dedicated-server", 7150.0, 118.0),
    ("whitepaper-a", 8120.0, 92.0),
    ("advisor", 8730.0, 84.5),
    ("mysqltuner", 7610.0, 104.0),
)


@dataclass(frozen=True)
class Picture:
    """`height` pixels of the page at `address` from the top of the element `top` on.

    opens: of the details of that selector the text is shown, from the line `from_line` on.
    """

    name: str
    address: str
    top: str = "body"
    height: int = 640
    opens: str = ""
    from_line: str = ""


def pictures() -> Iterator[Picture]:
    """Each is to be taken before the next one is asked for, which changes the rows."""
    set_role(User.objects.create_user(USER, password=PASSWORD), Role.ADMINISTRATOR)
    factories.CANDIDATES = _CANDIDATES
    host = _host()
    begun = timezone.now() - timedelta(minutes=4)
    factories.BEGIN = begun
    Host.objects.update(worker_seen_at=timezone.now())
    yield Picture("first-steps", reverse("home"), height=470)
    yield Picture("new-study", f"{reverse('study-new')}?question=best", height=610)

    study = factories.make_study(
        name="A first answer",
        template="first-answer",
        names=[name for name, *_ in _CANDIDATES],
        blocks=0,
        device=factories.make_device(host=host),
        races=True,
        confirms=True,
    )
    Study.objects.filter(pk=study.pk).update(blocks=3, created_at=begun - timedelta(minutes=1))
    study.refresh_from_db()
    factories.race(study, most=8)
    run = factories.begin(study)
    assert run is not None
    _measure(run)
    yield Picture("under-way", _page(study), height=660)

    slot = study.slots.select_related("run__slot__candidate", "run__workload", "run__config")
    factories.finish(slot.get(run=run).run)
    factories.race(study)
    yield Picture("answer", _page(study), height=640)
    yield Picture(
        name="my-cnf",
        address=_page(study),
        top="#study-recommendations",
        height=700,
        opens="[id^=my-cnf-]:is(details)",
        from_line="[mysqld]",
    )

    watched = factories.make_device(kind="nvme", data_dir="/srv/nvme", host=host)
    weekly(watched, timezone.now() - 25 * WEEK, slower(26, 0.12, 21), name="Weekly")
    yield Picture("history", reverse("device-detail", args=[watched.pk]), height=760)


def _host() -> Host:
    """Make a host with a disk below a directory of this machine, under another name."""
    with tempfile.TemporaryDirectory() as folder:
        found = directory_of(Path(folder))
    there = found.model_copy(
        update={"path": DATA_DIR, "identity": replace(found.identity, path=DATA_DIR)}
    )
    inventory = made_up_host(
        driver="tpcc-mysql", default_directory=DATA_DIR, directories=[]
    ).model_copy(update={"directories": (there,)})
    return with_inventory(factories.make_host(), inventory)


def _page(study: Study) -> str:
    return reverse("study-detail", args=[study.pk])


def _measure(run: Run) -> None:
    """Let its last minute be there, as while it is driven."""
    seconds = [
        LiveSecond(second, 92 + 6 * (second % 5), 141.0 + 4 * (second % 4), 71.0 + second % 6)
        for second in range(-4, 7)
    ]
    Run.objects.filter(pk=run.pk).update(live=seconds)
