"""Studies without servers: everything is real but what finds, prepares and measures a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from celery import current_app

from benchmarks.inventory import in_place
from benchmarks.jobs import runs
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import BytesSource, Measurement, Metrics
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.trial import Trial
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.made_up_host import this_host
from tuning.creation import device_facts
from tuning.models import Study
from tuning.requests.configs import ConfigText
from tuning.studies import preparation as prepare
from tuning.studies import trials as gatekeeping
from tuning.studies.jobs import cut_rule_of
from tuning.studies.scheduler import advance_host
from tuning.tests.work import execute_run, next_run, prepare_study

BINARY = ServerBinary(
    path=Path("/nowhere/mysqld"),
    flavour=Flavour.MYSQL,
    version=(9, 7, 4),
    version_text="9.7.4",
    digest="d" * 64,
    basedir=None,
)
MINE = ConfigText.of("mine", b"[mysqld]\ninnodb_io_capacity = 5000\n")


def measurement(tpmp: float = 6000.0, key: str = "k") -> Measurement:
    values: dict[str, Any] = dict.fromkeys(Metrics.__dataclass_fields__, 1.0)
    values.update(
        throughput=tpmp,
        completed=100,
        failed=0,
        retried=0,
        bytes_written_source=BytesSource.DEVICE,
    )
    return Measurement(
        metrics=Metrics(**values),
        samples=[{"second": 0, "completed": 100}],
        variables={"innodb_io_capacity": "5000"},
        fingerprint={"cpu_model": "any"},
        comparability_key=key,
        driver_version="1",
        step_seconds={"measuring": 1.0},
        log_tail="",
    )


def started(_binary: ServerBinary, options: dict[str, str], **_: Any) -> Trial:
    """A trial start after which every variable is as it was asked for."""
    return Trial(variables=dict(options), log_tail="", seconds=1.0)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str]]:
    """The messages sent to the broker: (task, id, queue)."""
    messages: list[tuple[str, int, str]] = []

    def send_task(name: str, args: list[int], queue: str) -> None:
        messages.append((name, args[0], queue))

    monkeypatch.setattr(current_app, "send_task", send_task)
    return messages


@pytest.fixture
def host_of_fakes(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    """No server and no dataset: what finds and loads them is replaced."""
    settings.RUN_DIR = tmp_path
    settings.DEFAULT_DEVICE = tmp_path / "device"
    this_host(servers=[BINARY], driver=FakeDriver.name, directories=[settings.DEFAULT_DEVICE])
    monkeypatch.setattr(device_facts, "estimated_directory_bytes", lambda _: 1)
    monkeypatch.setattr(in_place, "identify", lambda _: BINARY)
    monkeypatch.setattr(prepare, "check_measurable", lambda _: None)
    monkeypatch.setattr(prepare, "ensure_dataset", lambda *_, **__: None)
    monkeypatch.setattr(gatekeeping, "initialized_data_dir", lambda *_, **__: tmp_path)
    monkeypatch.setattr(gatekeeping, "try_config", started)
    monkeypatch.setattr(runs, "find_driver", lambda *_: FakeDriver())


def begin(study: Study) -> None:
    """Have it prepared and its first block queued."""
    prepare_study(study.pk)
    advance_host(study.host_id)


def run_to_the_end(study: Study, measure: Callable[..., Measurement]) -> Study:
    begin(study)
    for _ in range(50):
        run = next_run(study)
        if run is None:
            break
        execute_run(run, measure=measure, cut_rule=cut_rule_of)
        advance_host(study.host_id)
    study.refresh_from_db()
    return study


def measure_by_config(plan: Plan, **_: Any) -> Measurement:
    return measurement(7200.0 if plan.options else 6000.0)
