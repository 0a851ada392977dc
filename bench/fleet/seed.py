"""Rows for the simulated hosts: what they have measured before and what is to be measured now.

python -m bench.fleet.seed HOSTS STUDIES BLOCKS HISTORY
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from advisor.access.roles import Role  # noqa: E402
from advisor.tests import factories  # noqa: E402
from benchmarks.models import Host, Run, RunState  # noqa: E402
from tuning.models import Slot, Study, StudyState  # noqa: E402

NAMES = factories.NAMES[:3]


def host_name(number: int) -> str:
    """Return the name of the host with that number."""
    return f"db{number:03}"


def main(hosts: int, studies: int, blocks: int, history: int) -> None:
    """`history`: finished runs, of studies of 40, spread over the hosts."""
    workload = factories.make_workload(measure_s=60)
    with transaction.atomic():
        for number in range(hosts):
            host = factories.make_host(host_name(number))
            device = factories.make_device(host=host, data_dir="/srv/mysql")
            for _ in range(studies):
                # The first block is there, the others are asked for, one after the other.
                study = factories.make_study(
                    state=StudyState.RUNNING,
                    names=NAMES,
                    device=device,
                    workloads=[workload],
                    blocks=1,
                    started_at=timezone.now(),
                )
                Study.objects.filter(pk=study.pk).update(blocks=blocks)
    _remember(history)
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    print(json.dumps({"session": _session()}))


def _remember(history: int) -> None:
    """One finished study as it looks in life, copied in the database until there are enough."""
    if not history:
        return
    device = Host.objects.get(name=host_name(0)).devices.get()
    pattern = factories.measured_study(names=NAMES, blocks=10, device=device)
    copies = history // pattern.slots.count()
    hosts = list(Host.objects.order_by("name"))
    columns = {
        model: ", ".join(
            f'"{field.column}"' for field in model._meta.concrete_fields if field.column != "id"
        )
        for model in (Run, Slot)
    }
    with transaction.atomic(), connection.cursor() as cursor:
        for number in range(copies):
            host = hosts[number % len(hosts)]
            device, server = host.devices.get(), factories.make_server(host=host)
            study = Study.objects.get(pk=pattern.pk)
            study.pk, study.host, study.server = None, host, server
            study.save(force_insert=True)
            study.devices.add(device)
            study.workloads.add(*pattern.workloads.all())
            candidates = {}
            for candidate in pattern.candidates.all():
                old, candidate.pk, candidate.study = candidate.pk, None, study
                candidate.save(force_insert=True)
                candidates[old] = candidate.pk
            cursor.execute("select coalesce(max(id), 0) from benchmarks_run")
            last = cursor.fetchone()[0]
            changed = {"host_id": host.pk, "device_id": device.pk, "server_id": server.pk}
            cursor.execute(
                f"insert into benchmarks_run ({columns[Run]}) select "
                + _with(columns[Run], {name: str(value) for name, value in changed.items()})
                + " from benchmarks_run run join tuning_slot slot on slot.run_id = run.id "
                'where slot.study_id = %s order by slot."order"',
                [pattern.pk],
            )
            by_candidate = " ".join(f"when {old} then {new}" for old, new in candidates.items())
            cursor.execute(
                f"insert into tuning_slot ({columns[Slot]}) select "
                + _with(
                    columns[Slot],
                    {
                        "study_id": str(study.pk),
                        "device_id": str(device.pk),
                        "run_id": f'{last} + "order"',
                        "candidate_id": f"case candidate_id {by_candidate} end",
                    },
                )
                + " from tuning_slot slot where study_id = %s",
                [pattern.pk],
            )
    assert not Run.objects.filter(slot__study__state=StudyState.FINISHED).exclude(
        state=RunState.OK
    )


def _with(columns: str, changed: dict[str, str]) -> str:
    """The columns with other values for some of them."""
    table = "run" if "throughput" in columns else "slot"
    words = [word.strip('"') for word in columns.split(", ")]
    return ", ".join(changed.get(word, f'{table}."{word}"') for word in words)


def _session() -> str:
    """The cookie of an administrator who has logged in."""
    known = get_user_model().objects.filter(username="admin").first()
    user = known or factories.make_user("admin", Role.ADMINISTRATOR)
    session = SessionStore()
    session["_auth_user_id"] = str(user.pk)
    session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    session["_auth_user_hash"] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
