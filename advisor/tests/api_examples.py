"""A request of each kind to the API, on rows that are made up, and the answers to them.

`advisor/api/examples.json`, which the API's description takes its examples from, is written by
`ADVISOR_WRITE_EXAMPLES=1 .venv/bin/pytest advisor/tests/test_api_examples.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from advisor.tests import factories
from benchmarks.models import Device, Host, Probe, Run, RunState, Sample
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import (
    GB,
    MYSQL,
    directory_elsewhere,
    made_up_host,
    with_inventory,
)
from tuning.models import GateVerdict, Study, StudyState
from tuning.results.gate import GateOutcome
from tuning.results.study_rows import StudyRows
from tuning.server_profile.tests.made_up import output
from tuning.statistics.gate import DEFAULT_LIMITS, GatePlan

FAST, SLOW = Path("/srv/nvme"), Path("/srv/ssd")
MY_CNF = "[mysqld]\ninnodb_buffer_pool_size = 8G\ninnodb_io_capacity = 2000\n"
OLD_CNF = (
    "[mysqld]\ninnodb_buffer_pool_size = 8G\ninnodb_log_file_size = 1G\nquery_cache_size = 0\n"
)
STUDY = {
    "template": "first-answer",
    "name": "nightly",
    "devices": [{"path": str(FAST)}],
    "configs": [{"name": "production", "text": MY_CNF}],
}
# What is longer is cut: an example says what there is, not all of it.
MAX_OBJECTS, MAX_VALUES, MAX_TEXT = 1, 3, 600


@dataclass
class World:
    """Two hosts, and what was measured on the first."""

    measured: Study
    running: Study
    gate: Study
    device: Device
    probe: Probe
    run: Run
    hosts: tuple[Host, Host]
    made: dict[str, int] = field(default_factory=dict)


def make_world(admin: User, settings: Settings) -> World:
    """As it is before the first request."""
    settings.HOST_NAME = "db1"
    hosts = (_host("db1"), _host("db2"))
    device = factories.make_device(host=hosts[0], data_dir="/srv/old")
    probe = factories.probed(device)
    small: dict[str, Any] = {"blocks": 2, "names": factories.NAMES[:3], "device": device}
    measured = factories.measured_study(name="weekly", created_by=admin, **small)
    run = Run.objects.filter(slot__study=measured, state=RunState.OK).order_by("pk")[0]
    Sample.objects.bulk_create(factories.make_samples(run)[:3])
    Run.objects.filter(pk=run.pk).update(log_tail="mysqld: ready for connections.\n")
    running = factories.make_study(name="hourly", state=StudyState.RUNNING, **small)
    for slot in running.slots.select_related("run__slot__candidate", "run__workload")[:5]:
        factories.finish(slot.run)
    gate = factories.make_study(
        name="nightly",
        state=StudyState.FINISHED,
        gate=GatePlan(DEFAULT_LIMITS).as_json(),
        started_at=factories.BEGIN,
        finished_at=factories.BEGIN,
        **small | {"names": factories.NAMES[:2], "blocks": 1},
    )
    document = GateOutcome(StudyRows(gate)).document()
    GateVerdict.objects.create(
        study=gate, verdict="undecided", result=document.model_dump(mode="json")
    )
    return World(measured, running, gate, device, probe, run, hosts)


def _host(name: str) -> Host:
    there = made_up_host(
        name=name,
        servers=[replace(MYSQL, path=Path("/usr/sbin/mysqld"))],
        logical_cpus=16,
        memory_bytes=64 * GB,
        memory_budget_bytes=64 * GB,
    )
    directories = (directory_elsewhere(FAST, 0), directory_elsewhere(SLOW, 1, DeviceKind.SATA_SSD))
    there = there.model_copy(update={"default_directory": FAST, "directories": directories})
    dataset = {
        "device": str(FAST),
        "path": f"{FAST}/oltp-advisor/datasets/mysql-9.7.4-100w",
        "server_digest": MYSQL.digest,
        "server_version": "9.7.4",
        "title": "100 warehouses",
        "bytes": 11 * GB,
        "used_at": datetime(2026, 11, 20, 3, 0, tzinfo=UTC).isoformat(),
    }
    host = Host.objects.create(name=name, datasets=[dataset])
    return with_inventory(host, there)


LATER = output({"innodb_redo_log_capacity": "4294967296"}, began=1_790_086_400)


@dataclass(frozen=True)
class Call:
    """One request. `place`: what stands for the id in its address. `before` makes it possible."""

    operation: str
    place: Callable[[World], Any] = lambda world: None
    body: Any = None
    query: Callable[[World], dict[str, Any]] = lambda world: {}
    keeps: str = ""
    before: Callable[[World], object] = lambda world: None


def _made(name: str) -> Callable[[World], Any]:
    return lambda world: world.made[name]


def _profiled(world: World) -> None:
    """Give the measured study the profile, as if it had been asked for with it."""
    request = (world.measured.request or {}) | {"profile": world.made["profile"]}
    Study.objects.filter(pk=world.measured.pk).update(request=request)


def _measured(world: World) -> int:
    return world.measured.pk


def _recommended(world: World) -> int:
    return world.measured.recommendations.all()[0].pk


def _sides(world: World) -> dict[str, Any]:
    rows = world.measured.candidates.order_by("position")
    return {"side": [f"candidate-{one.pk}" for one in rows][:3]}


#: In the order in which they are sent: each finds what those before it have made.
CALLS = (
    Call("list_studies"),
    Call("get_study", _measured),
    Call("list_events", _measured),
    Call("get_document", _measured),
    Call("get_my_cnf", _recommended),
    Call("export_recommendation", _recommended, {"format": "cnf"}),
    Call("list_recommendations"),
    Call("list_all_runs"),
    Call("get_run", lambda world: world.run.pk),
    Call("get_run_series", lambda world: world.run.pk),
    Call("get_run_log", lambda world: world.run.pk),
    Call("list_servers"),
    Call("get_config", lambda world: world.measured.candidates.latest("position").config.hash),
    Call("compare_sides", query=_sides),
    Call("get_version"),
    Call("list_templates"),
    Call("list_emulation_profiles"),
    Call(
        "check_config",
        body={"text": OLD_CNF, "target": "mysql 8.4", "translate_from": "mysql 5.7"},
    ),
    Call("add_profile", body={"text": output(), "memory": "16G"}, keeps="profile"),
    Call("list_profiles"),
    Call("get_profile", _made("profile")),
    Call("add_profile", body={"text": LATER, "memory": "16G"}, keeps="later"),
    Call(
        "compare_profiles",
        query=lambda world: {"before": world.made["profile"], "after": world.made["later"]},
    ),
    Call("list_server_steps", lambda world: world.measured.pk, before=_profiled),
    Call("delete_profile", _made("later"), {}),
    Call("propose_configs", body={"template": "first-answer", "devices": [{"path": str(FAST)}]}),
    Call(
        "show_search_space",
        body={"template": "search", "devices": [{"path": str(FAST)}], "search": {"knobs": 4}},
    ),
    Call("create_study", body=STUDY, keeps="study"),
    Call("pause_study", _made("study"), {"reason": "backup"}),
    Call("resume_study", _made("study"), {}),
    Call("conclude_study", lambda world: world.running.pk, {}),
    Call("cancel_study", _made("study"), {}),
    Call("extend_study", _measured, {"blocks": 2}),
    Call(
        "create_group",
        body={"template": "quick", "name": "both hosts", "hosts": ["db1", "db2"]},
        keeps="group",
    ),
    Call("list_groups"),
    Call("get_group", _made("group")),
    Call("pause_group", _made("group"), {"reason": "backup"}),
    Call("resume_group", _made("group"), {}),
    Call("cancel_group", _made("group"), {}),
    Call(
        "create_gate",
        body={
            "name": "nightly",
            "candidate": {"config": {"name": "new", "text": MY_CNF}},
            "limits": {"throughput": 3, "p95_ms": 5},
            "budget_minutes": 60,
        },
    ),
    Call("list_gates"),
    Call("get_gate", lambda world: world.gate.pk),
    Call("get_gate_junit", lambda world: world.gate.pk),
    Call("get_gate_markdown", lambda world: world.gate.pk),
    Call("list_devices"),
    Call("register_device", body={"path": str(SLOW)}, keeps="device"),
    Call("get_device", lambda world: world.device.pk),
    Call("kind_device", _made("device"), {"kind": "nvme"}),
    Call("probe_device", _made("device"), {"seconds": 50}, keeps="probe"),
    Call("cancel_probe", _made("probe"), {}),
    Call("list_probes", lambda world: world.device.pk),
    Call("get_probe", lambda world: world.probe.pk),
    Call("list_hosts"),
    Call("get_host", lambda world: world.hosts[0].pk),
    Call("start_inspection", lambda world: world.hosts[0].pk, {"path": str(FAST)}, keeps="look"),
    Call("inspect_host", lambda world: world.hosts[0].pk, {}),
    Call("get_inspection", _made("look")),
    Call("list_datasets", lambda world: world.hosts[0].pk),
    Call("delete_dataset", lambda world: world.hosts[1].pk, {"name": "mysql-9.7.4-100w"}),
    Call("prune_dataset", lambda world: world.hosts[1].pk, {}),
    Call("drain_host", lambda world: world.hosts[1].pk, {"reason": "new kernel"}),
    Call("undrain_host", lambda world: world.hosts[1].pk, {}),
    Call("retire_host", lambda world: world.hosts[1].pk, {"reason": "sold"}),
    Call("unretire_host", lambda world: world.hosts[1].pk, {}),
)


@dataclass(frozen=True)
class Answered:
    """A request that was sent, and what came back: JSON, text, or bytes for a file."""

    call: Call
    status: int
    content: Any


def answers(client: Client, world: World, document: dict[str, Any]) -> Iterator[Answered]:
    """Send every request. `document` is the API's description: it has the addresses."""
    there = {
        operation["operationId"]: (method, path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    for call in CALLS:
        call.before(world)
        method, path = there[call.operation]
        if "{" in path:
            path = re.sub(r"\{\w+\}", f"{call.place(world)}", path)
        if method == "get":
            answer = client.get(path, call.query(world))
        else:
            answer = getattr(client, method)(path, call.body, content_type="application/json")
        content = _content(answer)
        if call.keeps:
            row = content.get("device", content)
            world.made[call.keeps] = row["made"] if "made" in row else row["id"]
        yield Answered(call, answer.status_code, content)


def _content(answer: Any) -> Any:
    if answer.streaming:
        return b"".join(answer.streaming_content)
    if not answer.content:
        return None
    if answer["Content-Type"].startswith("application/json"):
        return answer.json()
    return answer.content.decode()


def shortened(value: Any) -> Any:
    """What is shown of it."""
    if isinstance(value, list):
        most = MAX_OBJECTS if value and isinstance(value[0], dict) else MAX_VALUES
        return [shortened(one) for one in value[:most]]
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items()}
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return value[:MAX_TEXT].rpartition("\n")[0] + "\n"
    return value


def example_of(answered: Answered) -> dict[str, Any]:
    """As it stands in the file."""
    found: dict[str, Any] = {}
    if answered.call.body is not None:
        found["request"] = answered.call.body
    if answered.content is not None:
        found["response"] = shortened(answered.content)
    return found
