"""What has to be true when the storm is over. Each check returns what is wrong, in words."""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from advisor.tests.fault_storm.scene import SCRATCH, Scene
from advisor.tests.fault_storm.watch import Watch
from benchmarks.datasets import golden, pristine
from benchmarks.outcomes import Outcome

#: Ways for a run to end that say nothing of its config; a run that ended so is measured again.
NOT_THE_CONFIGS = {Outcome.LOST, Outcome.CANCELLED, Outcome.DISK_FULL, Outcome.DISTURBED}
_CLEAN_AFTER_S = 60.0
_READY = (golden.READY, pristine.READY)
_SLOTS = """
select slot.study_id, slot."order", slot.run_id from tuning_slot slot order by 1, 2
"""
RUNS = """
select run.id, run.state, run.step, run.reason, run.retry_of_id, host.name as host
from benchmarks_run run join benchmarks_host host on host.id = run.host_id order by run.id
"""
_VERDICTS = """
select study.id, study.name, study.state, study.reason, found.kind, candidate.name as candidate
from tuning_study study
left join tuning_recommendation found on found.study_id = study.id
left join tuning_candidate candidate on candidate.id = found.candidate_id
where study.finished_at is not null
order by study.id, found.durability
"""


def wrong_after(scene: Scene, watch: Watch, expected: dict[str, tuple[str, str]]) -> list[str]:
    """Everything that is wrong; `expected` are verdict and config of the undisturbed studies."""
    return [
        *_wrong_slots(scene),
        *_lost_after_all(scene, watch),
        *wrong_verdicts(scene, expected),
        *_left_behind(scene),
    ]


def verdicts(scene: Scene) -> dict[int, tuple[str, tuple[str, str]]]:
    """Of every study that has ended: what it compared, its verdict (or state and reason) and its
    config; those of the least safe board, if there are two.
    """
    found = {}
    for row in scene.place.rows(_VERDICTS):
        kind = row["kind"] or f"{row['state']}: {row['reason']}"
        found[row["id"]] = (row["name"], (kind, row["candidate"] or ""))
    return found


def _wrong_slots(scene: Scene) -> list[str]:
    """Every slot has exactly one counted run or a stated reason; nothing is held against a config
    that was not its doing.
    """
    runs = {run["id"]: run for run in scene.place.rows(RUNS)}
    wrong = []
    for run in runs.values():
        if run["state"] != "ok" and run["state"] not in NOT_THE_CONFIGS:
            wrong.append(f"run {run['id']} is {run['state']}: {run['reason']}")
        if run["state"] != "ok" and not run["reason"]:
            wrong.append(f"run {run['id']} is {run['state']} without a reason")
    for slot in scene.place.rows(_SLOTS):
        chain: list[dict[str, Any]] = []
        number = slot["run_id"]
        while number is not None:
            chain.append(runs.pop(number))
            number = chain[-1]["retry_of_id"]
        counted = Counter(run["state"] for run in chain)["ok"]
        if counted != 1 or chain[0]["state"] != "ok":
            wrong.append(f"slot {slot} has {counted} counted runs: {chain}")
    return wrong + [f"run {number} belongs to no slot" for number in runs]


def _lost_after_all(scene: Scene, watch: Watch) -> list[str]:
    """No run is lost after its last second: what a host has kept on its disk is stored."""
    states = {run["id"]: run["state"] for run in scene.place.rows(RUNS)}
    return [
        f"run {number} was measured and kept, and is {states.get(number)}"
        for number in sorted(watch.kept)
        if states.get(number) != "ok"
    ]


def wrong_verdicts(scene: Scene, expected: dict[str, tuple[str, str]]) -> list[str]:
    """Of the studies that have ended."""
    return [
        f"study {study} ({asked}) says {verdict}, undisturbed {expected[asked]}"
        for study, (asked, verdict) in verdicts(scene).items()
        if verdict != expected[asked]
    ]


def _left_behind(scene: Scene) -> list[str]:
    """Processes, ports, folders, files, locks: nothing a minute later."""
    deadline = time.monotonic() + _CLEAN_AFTER_S
    while (left := _left(scene)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return left


def _left(scene: Scene) -> list[str]:
    found = [str(path) for path in (scene.place.folder / SCRATCH).iterdir()]
    for host in scene.asks:
        found += [f"{host}: {line}" for line in scene.place.left_behind(host)]
        home = scene.place.folder / host / "home" / "run"
        found += [f"{host}: {path}" for path in (home / "unstored").glob("*")]
        locks = [home / "benchmark.lock", scene.place.folder / host / "measuring.lock"]
        found += [f"{host}: {path} is held" for path in locks if not _is_free(path)]
        datasets = scene.place.hosts[host].inside(scene.disks[host].mounted_at)
        datasets = datasets / "oltp-advisor" / "datasets"
        whole = [
            path for path in datasets.glob("*") if any((path / ready).exists() for ready in _READY)
        ]
        found += [
            f"{host}: {path}" for path in datasets.glob("*") if path.is_dir() and path not in whole
        ]
    return found


def left_control_groups() -> list[str]:
    """Of the whole machine, where nothing else may have made any."""
    return [str(path) for path in Path("/sys/fs/cgroup").glob("**/oltp-advisor-*")]


def _is_free(path: Path) -> bool:
    """Whether nobody has the lock for a second."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for _ in range(10):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.1)
            else:
                return True
        return False
    finally:
        os.close(descriptor)
