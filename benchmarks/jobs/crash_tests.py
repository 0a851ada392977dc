"""The kind of job that kills a server under load and times its recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import QuerySet

from benchmarks.jobs.kinds import Ending, Job, JobKind
from benchmarks.jobs.leftovers import CRASH_TEST_PREFIX
from benchmarks.jobs.provenance import code_commit
from benchmarks.jobs.runs import Wake, nobody, planned
from benchmarks.measurement.crash_test import Recovered, crash_test
from benchmarks.models import CrashTest

Kill = Callable[..., list[Recovered]]


@dataclass(frozen=True)
class CrashTestKind(JobKind[CrashTest]):
    """Crash tests. A server that somebody else killed makes it lost, not failed."""

    name = "crash-test"
    task = "benchmarks.crash_test"
    kill: Kill = crash_test
    wake: Wake = nobody

    @property
    def rows(self) -> QuerySet[CrashTest]:
        return CrashTest.objects.select_related(
            "device", "server", "workload__load_host", "config"
        )

    def work(self, job: Job[CrashTest]) -> Ending:
        test = job.row
        with planned(job, f"{CRASH_TEST_PREFIX}{test.pk}", self.wake) as plan:
            found = self.kill(
                plan,
                load_s=float(test.load_s),
                report=lambda step: job.report(step=step[:64]),
                should_stop=job.should_stop,
            )
        kills = [one.as_json() for one in found]
        return Ending({"state": "ok", "step": "", "kills": kills, "code_commit": code_commit()})
