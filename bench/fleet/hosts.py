"""Hosts without servers: everything a worker does with database and Redis, but no measuring.

    python -m bench.fleet.hosts FIRST COUNT SECONDS_PER_RUN SLOWER SAMPLES VARIABLES
        OUTPUT

Each host has a sweep and two workers that race for its runs: the locks that keep two workers of
one machine apart are left out, so that the rows alone decide. Of the messages one in twenty is
lost and one in ten comes twice. All that has a time takes SLOWER times as long. Until standard
input ends; then OUTPUT says what was measured.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
django.setup()

import redis  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import Error, close_old_connections  # noqa: E402
from django.db.models.functions import Now  # noqa: E402

from advisor.tests import factories  # noqa: E402
from bench.fleet.seed import host_name  # noqa: E402
from benchmarks.jobs import engine, runs, sweep  # noqa: E402
from benchmarks.measurement.plan import Plan  # noqa: E402
from benchmarks.measurement.result import Measurement, Metrics  # noqa: E402
from benchmarks.models import Host, Run  # noqa: E402
from benchmarks.telemetry.usage import USAGE_FIGURES  # noqa: E402
from tuning.studies.jobs import KINDS, StudyRunKind  # noqa: E402
from tuning.studies.scheduler import EXECUTE, advance_host  # noqa: E402

LOST, TWICE = 0.05, 0.1


class Hosts:
    """The hosts of this process."""

    def __init__(self, seconds: float, samples: int, variables: dict[str, str]) -> None:
        self._seconds = seconds
        self._samples = samples
        self._variables = variables
        self._broker = redis.Redis.from_url(settings.CELERY_BROKER_URL, max_connections=2000)
        self._ended = threading.Event()
        self._began = time.monotonic()
        self._dice = random.Random(1)
        self.measured: list[int] = []
        self.messages = {"received": 0, "lost": 0, "twice": 0, "idle": 0}
        self.sweeps: list[float] = []
        self.errors: list[str] = []

    def run(self, first: int, count: int) -> None:
        """Play the hosts until standard input ends."""
        threads = []
        for number in range(first, first + count):
            host = Host.objects.get(name=host_name(number))
            turn = self._seconds * (number - first) / count
            threads += [
                threading.Thread(target=self._sweep, args=(host, turn)),
                *(threading.Thread(target=self._work, args=(host, turn)) for _ in range(2)),
            ]
        for thread in threads:
            thread.start()
        print("ready", flush=True)
        sys.stdin.read()
        self._ended.set()
        for thread in threads:
            thread.join()

    def _sweep(self, host: Host, turn: float) -> None:
        sweeper = sweep.Sweeper(KINDS)
        self._ended.wait(turn)
        while not self._ended.wait(settings.SWEEP_SECONDS):
            began = time.monotonic()
            with self._noting():
                Host.objects.filter(pk=host.pk).update(worker_seen_at=Now())
                sweeper.sweep(host.pk)
                advance_host(host.pk)
            self.sweeps.append(time.monotonic() - began)

    def _work(self, host: Host, turn: float) -> None:
        _this.turn = turn
        _this.claim = f"{host.name}.{threading.get_ident()}.{random.random()}"
        kind = StudyRunKind()
        while not self._ended.is_set():
            found: Any = self._broker.brpop([host.queue], timeout=5)
            if found is None:
                continue
            name, pk = _task(found[1])
            self.messages["received"] += 1
            if self._dice.random() < LOST:
                self.messages["lost"] += 1
                continue
            if self._dice.random() < TWICE:
                self.messages["twice"] += 1
                self._broker.lpush(host.queue, found[1])
            with self._noting():
                if name != EXECUTE or not engine.execute(kind, pk):
                    self.messages["idle"] += 1
                    continue
                advance_host(host.pk)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except Error as error:
            self.errors.append(f"{type(error).__name__}: {error}")
        finally:
            close_old_connections()  # as sweep and tasks do

    def measure(self, _plan: Any, **_: Any) -> Measurement:
        """Wait for the host's next turn: one run in `seconds`, each host at another time."""
        run = _this.run
        self.measured.append(run.pk)
        since = time.monotonic() - self._began - _this.turn
        time.sleep(self._seconds - since % self._seconds)
        level = 6000 * random.gauss(1, 0.03)
        values: dict[str, Any] = dict.fromkeys(Metrics.__dataclass_fields__, 12.345678901)
        values |= {"throughput": level, "completed": 6000, "failed": 0, "retried": 1}
        values |= {"bytes_written_source": "device"}
        return Measurement(
            metrics=Metrics(**values),
            samples=[self._sample(second) for second in range(self._samples)],
            variables=self._variables | {"pid_file": f"/run/{run.pk}"},
            fingerprint=factories.FINGERPRINT,
            comparability_key="a1" * 32,
            driver_version="tpcc-mysql 1ec1c5e",
            step_seconds={"warming up": 5.0, "measuring": 60.0, "stopping the server": 3.2},
            log_tail=factories.LOG_TAIL,
        )

    def _sample(self, second: int) -> dict[str, Any]:
        figures = {name: random.uniform(0, 100) for name in USAGE_FIGURES}
        return {"second": second, "elapsed_s": 1.0, "completed": 100, "p95_ms": 3.2, **figures}


_this = threading.local()


def _task(message: bytes) -> tuple[str, int]:
    """The name of the task and its row."""
    document = json.loads(message)
    (pk,), _, _ = json.loads(base64.b64decode(document["body"]))
    return document["headers"]["task"], pk


@contextmanager
def _nobody(**_: Any) -> Iterator[bool]:
    yield False


@contextmanager
def _anybody(**_: Any) -> Iterator[bool]:
    yield True


def _plan(run: Run, _name: str) -> Plan:
    _this.run = run
    values: dict[str, Any] = dict.fromkeys(Plan.__dataclass_fields__)
    return Plan(**values)


def _take_what_is_left() -> None:
    """Run at the lowest priority: real hosts take no processor from the centre."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    # Where each session has a share of its own, this is that of a session (sched(7)).
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")


def main(
    first: str,
    count: str,
    seconds: str,
    slower: str,
    samples: str,
    variables: str,
    output: str,
) -> None:
    """Play so many hosts, and write their latencies to `output`."""
    for name in ("HEARTBEAT_SECONDS", "SWEEP_SECONDS", "LOST_AFTER_SECONDS"):
        setattr(settings, name, getattr(settings, name) * float(slower))
    _take_what_is_left()
    known = json.loads(Path(variables).read_text())
    hosts = Hosts(float(seconds) * float(slower), int(samples), known)
    with (
        patch.multiple(engine, this_process=lambda: str(_this.claim), measuring_alone=_anybody),
        patch.multiple(sweep, measuring_alone=_nobody, home_lock=_nobody),
        patch.object(sweep, "is_of_this_home", lambda _: False),
        patch.multiple(runs, plan_for=_plan, measure=hosts.measure),
    ):
        hosts.run(int(first), int(count))
    keys = ("measured", "messages", "sweeps", "errors")
    seen = {key: getattr(hosts, key) for key in keys}
    seen["samples"] = int(samples) * len(hosts.measured)
    Path(output).write_text(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
