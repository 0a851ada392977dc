"""A probe as its page shows it: its jobs in words, the suggested range, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.charts.probe import WORDS, split_jobs
from benchmarks.jobs.presence import is_silent
from benchmarks.models import JobState, Probe, Run, RunState
from benchmarks.probe.jobs import Job, Pattern, Purpose
from benchmarks.probe.result import JobResult, ProbeResult
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.studies.waiting import drain_text

KIB, MIB = 1024, 1024 * 1024


@dataclass(frozen=True)
class JobLine:
    """One job: a description and its result."""

    what: str
    block: str
    depth: int
    way: str
    result: JobResult


@dataclass(frozen=True)
class ProbeView:
    """`writes` is the W of the suggested range; `splits_missing` says in sentences why a latency
    could not be split.
    """

    probe: Probe
    found: ProbeResult
    lines: list[JobLine]
    writes: float | None
    splits_missing: list[str]

    @property
    def has_queue_time(self) -> bool:
        """Whether queue and device are separated in any job."""
        return any(
            job.split is not None and job.split.queue_us is not None for job in self.found.jobs
        )

    @property
    def has_split(self) -> bool:
        return any(job.split is not None for _, job in split_jobs(self.found))


def probe_view(probe: Probe) -> ProbeView | None:
    """All results of a probe; None if it failed."""
    found = probe.found
    if found is None:
        return None
    reasons = [
        f"{name}: {job.split_missing}" for name, job in split_jobs(found) if job.split is None
    ]
    return ProbeView(
        probe=probe,
        found=found,
        lines=[_line(job) for job in found.jobs],
        writes=found.best(Pattern.RANDOM_WRITE),
        splits_missing=reasons,
    )


def step_words(step: str) -> str:
    """A job's name (benchmarks.probe.jobs.Job.name) without fio's words for patterns."""
    first, blank, rest = step.partition(" ")
    return f"{WORDS[Pattern(first)]}{blank}{rest}" if first in set(Pattern) else step


def waits_for(probe: Probe) -> dict[str, Any]:
    """The job of its host that a queued probe waits for, and whether the host has no worker.

    The job is a study, else a run or a probe.
    """
    host = probe.device.host_id
    study = (
        Study.objects.filter(host=host, state__in=ACTIVE_STUDY_STATES, paused_at=None)
        .exclude(state=StudyState.QUEUED)
        .first()
    )
    running = Probe.objects.filter(device__host=host, state=JobState.RUNNING)
    other = running.exclude(pk=probe.pk).first()
    is_measuring = Run.objects.filter(host=host, state=RunState.RUNNING).exists()
    return {
        "drain": drain_text(probe.device.host),
        "study": study,
        "probe": other,
        "is_measuring": is_measuring,
        "is_workerless": is_silent(host),
    }


def _line(result: JobResult) -> JobLine:
    job = result.job
    return JobLine(_what(job), _block(job.block_bytes), job.queue_depth, _way(job), result)


def _what(job: Job) -> str:
    if job.purpose is Purpose.FILL:
        return "Writing the file"
    if job.purpose is Purpose.COMMIT:
        return f"Commit, {job.sync}"
    low = f", low load ({job.rate_iops} per second)" if job.rate_iops else ""
    return f"{WORDS[job.pattern]}{low}"


def _block(size: int) -> str:
    return f"{size // MIB} MB" if size >= MIB else f"{size // KIB} KB"


def _way(job: Job) -> str:
    if job.direct:
        return "direct"
    if job.sync and job.sync_every > 1:
        return f"buffered, {job.sync} every {job.sync_every}"
    return f"buffered, {job.sync} each" if job.sync else "buffered"
