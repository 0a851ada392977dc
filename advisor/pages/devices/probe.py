"""A probe as its page shows it: its jobs in words, the suggested range, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.charts.probe import WORDS, probe_figures, split_jobs
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
class ProbeChart:
    key: str
    title: str
    about: str
    hint: str = ""


@dataclass(frozen=True)
class ProbeView:
    """`writes` is the W of the suggested range; `splits_missing` says in sentences why a latency
    could not be split.
    """

    probe: Probe
    found: ProbeResult
    charts: list[ProbeChart]
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
        return any(chart.key == "split" for chart in self.charts)


_CHARTS = (
    ProbeChart(
        "iops",
        "Random 16 KB requests per second by queue depth",
        "IOPS by queue depth, random reads and writes of 16 KB, direct and buffered",
        "Dotted: buffered, so partly served from memory; writes are flushed in batches.",
    ),
    ProbeChart(
        "read-latency",
        "Latency of random reads by queue depth",
        "p50, p95 and p99 of the latency of random reads by queue depth, in microseconds",
    ),
    ProbeChart(
        "write-latency",
        "Latency of random writes by queue depth",
        "p50, p95 and p99 of the latency of random writes by queue depth, in microseconds",
    ),
    ProbeChart(
        "commit",
        "Commit latency: one flush after a 4 KB write",
        "p50, p95 and p99 of one fsync and one fdatasync, in microseconds",
        "A durable commit waits for this.",
    ),
    ProbeChart(
        "split",
        "Latency of one request by part",
        "Mean microseconds of one request in the program, the kernel, the queue and the device",
    ),
)


def probe_view(probe: Probe) -> ProbeView | None:
    """All results of a probe; None if it failed."""
    found = probe.found
    if found is None:
        return None
    drawn = probe_figures(found)
    reasons = [
        f"{name}: {job.split_missing}" for name, job in split_jobs(found) if job.split is None
    ]
    return ProbeView(
        probe=probe,
        found=found,
        charts=[chart for chart in _CHARTS if chart.key in drawn],
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
