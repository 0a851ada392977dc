"""Which measurements a probe takes, and how it shares its time among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

#: InnoDB's page, so one request here is one page there.
PAGE_BYTES = 16 * 1024
#: Large enough that no device is held up by the number of requests.
SEQUENTIAL_BYTES = 1024 * 1024
#: A redo log write at commit: one block of the file system.
LOG_WRITE_BYTES = 4096
QUEUE_DEPTHS = (1, 4, 16, 64)
BUFFERED_DEPTHS = (1, 16)
#: Requests per second that leave every device idle most of the time. SYSTOR 2015 (Figures 3 and
#: 5c) sends 1 per second; that takes minutes for a percentile.
LOW_LOAD_IOPS = 50
#: Buffered page writes are flushed in batches, as InnoDB flushes (it writes some 120 pages and
#: then waits); else memory would be measured. With many threads each flushes its share.
FLUSH_EVERY = 64
_MIN_BATCH = 8
_SYNC = "fdatasync"

#: Seconds to start and end fio, not counted in a job's own time.
START_S = 0.3
#: Below this a job's figures are noise.
MIN_JOB_S = 0.1


class Pattern(StrEnum):
    """Direction and order of the accesses; the values are fio's `rw` words."""

    RANDOM_READ = "randread"
    RANDOM_WRITE = "randwrite"
    SEQUENTIAL_READ = "read"
    SEQUENTIAL_WRITE = "write"

    @property
    def reads(self) -> bool:
        return self in (Pattern.RANDOM_READ, Pattern.SEQUENTIAL_READ)

    @property
    def is_random(self) -> bool:
        return self in (Pattern.RANDOM_READ, Pattern.RANDOM_WRITE)

    @property
    def unit(self) -> str:
        """Return the unit in which a device's performance is given."""
        return "IOPS" if self.is_random else "MB/s"


class Purpose(StrEnum):
    """Purpose of a job."""

    FILL = "fill"  # writes the file; its figures include what allocating blocks costs
    LOAD = "load"  # how much the device takes at a queue depth
    LOW_LOAD = "low-load"  # latency of single requests on an idle device
    COMMIT = "commit"  # what a durable commit waits for: a small write and its flush


@dataclass(frozen=True)
class Job:
    """One run of fio. `sync` is "", "fsync" or "fdatasync" after every `sync_every` writes."""

    purpose: Purpose
    pattern: Pattern
    block_bytes: int
    queue_depth: int = 1
    direct: bool = True
    sync: str = ""
    sync_every: int = 1
    rate_iops: int | None = None
    seconds: float = 1.0

    @property
    def name(self) -> str:
        """Return the name for people and logs: "randread 16k, depth 4, direct"."""
        parts = [f"{self.pattern} {self.block_bytes // 1024}k"]
        if self.purpose in (Purpose.FILL, Purpose.LOW_LOAD):
            parts.append(self.purpose.replace("-", " "))
        else:
            parts.append(f"depth {self.queue_depth}")
        if self.sync:
            parts.append(self.sync)
        parts.append("direct" if self.direct else "buffered")
        return ", ".join(parts)


def plan_jobs(seconds: float, *, direct: bool) -> list[Job]:
    """Return all jobs of a probe of about `seconds` (meant for 30 to 60), the fill first.

    Without direct I/O what can be measured is the page cache above the device: queue depths,
    sequential rates and low load are then buffered as well, and there is no second buffered set.
    `seconds` of each job are its share; very short probes shrink no job below a tenth of a second.
    """
    random = [pattern for pattern in Pattern if pattern.is_random]
    sequential = [pattern for pattern in Pattern if not pattern.is_random]
    page, write = PAGE_BYTES, Pattern.SEQUENTIAL_WRITE
    low: dict[str, Any] = {"direct": direct, "rate_iops": LOW_LOAD_IOPS, "seconds": 3}
    jobs = [
        Job(Purpose.FILL, write, SEQUENTIAL_BYTES, 4, direct, seconds=6),
        *(_load(p, page, depth, direct, 2.5) for p in random for depth in QUEUE_DEPTHS),
        *(_load(p, SEQUENTIAL_BYTES, 8 if direct else 1, direct, 2.5) for p in sequential),
        Job(Purpose.LOW_LOAD, Pattern.RANDOM_READ, page, **low),
        Job(Purpose.LOW_LOAD, Pattern.RANDOM_WRITE, page, sync="" if direct else _SYNC, **low),
        Job(Purpose.COMMIT, write, LOG_WRITE_BYTES, direct=False, sync="fsync", seconds=3),
        Job(Purpose.COMMIT, write, LOG_WRITE_BYTES, direct=False, sync=_SYNC, seconds=3),
    ]
    if direct:
        jobs += [_load(p, page, depth, False, 2) for p in random for depth in BUFFERED_DEPTHS]
    unit = (seconds - START_S * len(jobs)) / sum(job.seconds for job in jobs)
    return [replace(job, seconds=max(MIN_JOB_S, job.seconds * unit)) for job in jobs]


def _load(pattern: Pattern, block: int, depth: int, direct: bool, seconds: float) -> Job:
    flushed = not direct and not pattern.reads
    return Job(
        *(Purpose.LOAD, pattern, block, depth, direct),
        sync="fsync" if flushed else "",
        sync_every=max(_MIN_BATCH, FLUSH_EVERY // depth) if flushed else 1,
        seconds=seconds,
    )
