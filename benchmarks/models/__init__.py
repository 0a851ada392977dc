"""The rows of the measuring floor. The row of a run, as of every other job, is the job."""

from __future__ import annotations

from benchmarks.models.hosts import Device, Host, ListedPath, Release, Server
from benchmarks.models.jobs import (
    ACTIVE_JOB_STATES,
    Inspection,
    JobRow,
    JobState,
    Probe,
    QueuedJob,
)
from benchmarks.models.runs import (
    ACTIVE_RUN_STATES,
    SERIES_COLUMNS,
    UNDONE_RUN_STATES,
    BinaryLog,
    Config,
    CrashTest,
    LoadJob,
    Run,
    RunState,
    Sample,
    Workload,
)

__all__ = [
    "ACTIVE_JOB_STATES",
    "ACTIVE_RUN_STATES",
    "SERIES_COLUMNS",
    "UNDONE_RUN_STATES",
    "BinaryLog",
    "Config",
    "CrashTest",
    "Device",
    "Host",
    "Inspection",
    "JobRow",
    "JobState",
    "ListedPath",
    "LoadJob",
    "Probe",
    "QueuedJob",
    "Release",
    "Run",
    "RunState",
    "Sample",
    "Server",
    "Workload",
]
