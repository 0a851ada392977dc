"""The words that pages, API and terminal use for hosts."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.wording.formatting import byte_size
from benchmarks.measurement.fingerprint import MEMORY_STEP, fact_name
from benchmarks.storage.kinds import kind_words
from tuning.studies.current_jobs import HostState

STATE_WORDS = {
    HostState.SILENT: "Silent",
    HostState.DRAINED: "Drained",
    HostState.DRAINING: "Draining",
    HostState.MEASURING: "Measuring",
    HostState.PROBING: "Probing",
    HostState.PREPARING: "Preparing",
    HostState.DRIVING: "Driving",
    HostState.WAITING: "Between two jobs",
    HostState.IDLE: "Idle",
    HostState.RETIRED: "Retired",
}
PROBLEM_WORDS = {
    "idle_worker": "takes no work",
    "no_worker": "no worker",
    "silent_worker": "silent worker",
    "not_inspected": "not inspected",
    "refused_server": "refused server",
    "refused_directory": "refused directory",
    "no_server": "no server",
    "no_driver": "no driver",
    "failed_study": "last study failed",
}
# The class of a badge.
TONES = {
    HostState.RETIRED: "warn",
    HostState.SILENT: "bad",
    HostState.DRAINED: "warn",
    HostState.DRAINING: "warn",
    HostState.MEASURING: "busy",
    HostState.PROBING: "busy",
    HostState.PREPARING: "busy",
    HostState.DRIVING: "busy",
    HostState.WAITING: "busy",
    HostState.IDLE: "ok",
}


def fact_words(fingerprint: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each fact of a host's fingerprint as people read it: ("memory", "25.2 GB")."""
    texts = {name: str(fact) for name, fact in fingerprint.items()}
    for name in {"memory_bytes", "memory_limit"} & texts.keys():
        if texts[name].isdigit():
            texts[name] = byte_size(int(texts[name]))
    for name in texts:
        if name.endswith(("_kind", "_transport")):
            texts[name] = kind_words(texts[name])
    return [(fact_name(name), text) for name, text in texts.items()]


def compared_memory(text: str) -> str:
    """The memory in facts that are compared, where it is a number of steps: "94" -> "25.2 GB"."""
    return byte_size(int(text) * MEMORY_STEP) if text.isdigit() else text
