"""What has to be true when the storm is over. Each check returns what is wrong, in words."""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.faults.scene import SCRATCH, Scene
from bench.faults.storm import Storm
from bench.faults.watch import Watch
from benchmarks.datasets.shared_folders import READY
from benchmarks.emulation.groups import PATTERN
from benchmarks.outcomes import Outcome
from benchmarks.ownership import is_free

#: Ways for a run to end that say nothing of its config; a run that ended so is measured again.
NOT_THE_CONFIGS = {Outcome.LOST, Outcome.CANCELLED, Outcome.DISK_FULL, Outcome.DISTURBED}
_CLEAN_AFTER_S = 60.0
#: Verdict and config of what is compared, and what else real servers may say: of every forty
#: configs that change nothing one is found to be slower by chance, and runs of seconds beside
#: those of another host are too noisy for a few blocks to show what is faster. The wrong one is
#: never crowned.
_UNDISTURBED = {"A/A": ("no_difference", "server-default"), "A/B": ("winner", "mine")}
_OF_SERVERS = {
    "A/A": ("baseline_best", "server-default"),
    "A/B": ("no_difference", "server-default"),
}
#: The process that Celery starts for jobs is the worker's child.
_PROCESSES_OF_A_WORKER = 2
SLOTS = """
select slot.study_id, slot."order", slot.run_id from tuning_slot slot order by 1, 2
"""
RUNS = """
select run.id, run.state, run.step, run.reason, run.retry_of_id, host.name as host
from benchmarks_run run join benchmarks_host host on host.id = run.host_id order by run.id
"""
VERDICTS = """
select study.id, study.name, study.state, study.reason, found.kind, candidate.name as candidate
from tuning_study study
left join tuning_recommendation found on found.study_id = study.id
left join tuning_candidate candidate on candidate.id = found.candidate_id
where study.finished_at is not null
order by study.id, found.durability
"""


def wrong_after(scene: Scene, watch: Watch) -> list[str]:
    """Everything that is wrong; what is left has a minute to go."""
    wrong = wrong_to_see(scene, watch)
    deadline = time.monotonic() + _CLEAN_AFTER_S
    while (left := left_now(scene)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return wrong + left


def wrong_to_see(scene: Scene, watch: Watch) -> list[str]:
    """What is wrong with rows and answers."""
    return [
        *_wrong_slots(scene),
        *_lost_after_all(scene, watch),
        *wrong_verdicts(scene),
        *(f"answered {number} times: {text}" for text, number in scene.wrong_answers.items()),
    ]


def not_felt(storm: Storm) -> list[str]:
    """What a storm of many faults cannot have been without."""
    struck = {strike.fault for strike in storm.strikes}
    states = {run["state"] for run in storm.scene.place.rows(RUNS)}
    return [f"it never came: {fault.name}" for fault in storm.kinds if fault not in struck] + [
        f"no run is {state}" for state in (Outcome.LOST, Outcome.DISK_FULL) if state not in states
    ]


def verdicts(scene: Scene) -> dict[int, tuple[str, tuple[str, str]]]:
    """Of every study that has ended: what it compared, its verdict (or state and reason) and its
    config; those of the least safe board, if there are two.
    """
    found = {}
    for row in scene.place.rows(VERDICTS):
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
    for slot in scene.place.rows(SLOTS):
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
    """No run is lost after its last second: what a host has kept on its disk is stored.

    A result is on the disk for as long as a server needs to stop: hardly one is not seen.
    """
    states = {run["id"]: run["state"] for run in scene.place.rows(RUNS)}
    counted = Counter(states.values())["ok"]
    blind = [f"of {counted} results only {len(watch.kept)} were seen on a disk"]
    return (blind if 2 * len(watch.kept) < counted else []) + [
        f"run {number} was measured and kept, and is {states.get(number)}"
        for number in sorted(watch.kept)
        if states.get(number) != "ok"
    ]


def wrong_verdicts(scene: Scene) -> list[str]:
    """Of the studies that have ended; there must be some of every kind."""
    found = verdicts(scene)
    ended = {asked for asked, _ in found.values()}
    wrong = [f"no study ended: {asked}" for asked in scene.asks.values() if asked not in ended]
    for study, (asked, verdict) in found.items():
        expected = [_UNDISTURBED[asked]]
        if asked not in {scene.asks[host] for host in scene.fakes}:
            expected.append(_OF_SERVERS[asked])
        if verdict not in expected:
            wrong.append(f"study {study} ({asked}) says {verdict}, undisturbed {expected}")
    return wrong


def left_now(scene: Scene) -> list[str]:
    """Processes, ports, folders, files, control groups and locks, and workers too many."""
    found = [str(path) for path in (scene.place.folder / SCRATCH).iterdir()]
    for host in scene.asks:
        found += [f"{host}: {line}" for line in scene.place.left_behind(host)]
        found += [f"{host}: {path}" for path in _control_groups()]
        workers = [process.pid for process in scene.workers(host)]
        if len(workers) != _PROCESSES_OF_A_WORKER:
            found.append(f"{host} has {len(workers)} processes of workers: {workers}")
        home = scene.place.folder / host / "home" / "run"
        found += [f"{host}: {path}" for path in (home / "unstored").glob("*")]
        locks = [home / "benchmark.lock", scene.place.folder / host / "measuring.lock"]
        found += [f"{host}: {path} is held" for path in locks if not _is_free(path)]
        datasets = scene.place.hosts[host].inside(scene.disks[host].mounted_at)
        datasets = datasets / "oltp-advisor" / "datasets"
        whole = [path for path in datasets.glob("*") if (path / READY).exists()]
        found += [
            f"{host}: {path}" for path in datasets.glob("*") if path.is_dir() and path not in whole
        ]
    return found


def _control_groups() -> list[Path]:
    """Return the control groups that no process holds any more."""
    return [path for path in Path("/sys/fs/cgroup").glob(f"**/{PATTERN}") if is_free(path)]


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
