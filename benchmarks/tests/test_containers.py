"""Two containers on one machine and one device: neither takes the other's work for a leftover.

Their PID namespaces are real ones, made with `unshare`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from benchmarks.ownership import held_folder, is_free
from benchmarks.processes.orphans import find_by_argument
from benchmarks.servers.running import defaults_argument, sweep_folders
from benchmarks.storage.layout import FOLDER

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="PID namespaces take root")
CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--ipc"]

# Does on a device what a job does, says whether the test's run is free, and waits.
JOB = """
import json, sys, time
from pathlib import Path
from benchmarks.probe.run import probe_file
from benchmarks.servers.trial import _trial_dir
from benchmarks.ownership import held_folder, is_free

device = Path(sys.argv[1])
run_dir = device / "oltp-advisor" / "runs" / "run-7"
theirs = device / "oltp-advisor" / "runs" / "run-8"
free = is_free(theirs)
with (
    held_folder(run_dir),
    probe_file(device) as (probe, _),
    _trial_dir(device / "oltp-advisor" / "trials") as trial,
):
    folders = [str(run_dir), str(probe), str(trial)]
    print(json.dumps({"free": free, "folders": folders}), flush=True)
    time.sleep(300)
"""


@contextmanager
def container(code: str, *arguments: object) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A process that is number 1 of a PID namespace, and what it says."""
    process = subprocess.Popen(
        [*CONTAINER, sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "advisor.settings"},
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            yield process, process.stdout
        finally:
            process.kill()
            process.wait()


def until(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return what()


def test_what_another_container_does_is_left_alone_until_it_is_dead(tmp_path: Path) -> None:
    root = tmp_path / FOLDER
    our_run = root / "runs" / "run-8"
    with held_folder(our_run):
        with container(JOB, tmp_path) as (_, words):
            said = json.loads(words.readline())
            folders = [Path(folder) for folder in said["folders"]]
            # It has the same device and deletes nothing of ours, and we nothing of its.
            assert not said["free"]
            assert not any(sweep_folders(folder.parent, folder.name) for folder in folders)
            with pytest.raises(BlockingIOError), held_folder(folders[0]):
                pass
            assert all(folder.is_dir() for folder in folders)
        assert until(lambda: all(is_free(folder) for folder in folders))
        assert [sweep_folders(folder.parent, folder.name) for folder in folders] == [
            [folder] for folder in folders
        ]
        assert our_run.is_dir()


def test_a_server_of_a_container_with_the_same_path_is_not_ended_in_its_place(
    tmp_path: Path,
) -> None:
    argument = defaults_argument(tmp_path)
    wait = "import time; print(flush=True); time.sleep(300)"
    with container(wait, argument) as (process, words):
        words.readline()
        # `unshare` itself is outside
        assert [found.pid for found in find_by_argument({argument})] == [process.pid]


# A time namespace of its own, so that nobody who measures on this machine is in the way.
TWO_AT_ONCE = """
import subprocess, sys
container, code = sys.argv[2:], sys.argv[1]
def start(home):
    return subprocess.Popen(
        [*container, sys.executable, "-c", code, home], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )
first = start("a")
held = [first.stdout.readline().strip()]
second = start("b")
held.append(second.stdout.readline().strip())
first.kill(), first.wait()
third = start("c")
held.append(third.stdout.readline().strip())
for one in (second, third):
    one.kill(), one.wait()
print(held)
"""
MEASURE = """
import os, sys, tempfile, time
from pathlib import Path
os.environ["ADVISOR_HOME"] = tempfile.mkdtemp(dir=os.environ["HOMES"])
from benchmarks.jobs.locks import measuring_alone
with measuring_alone(patience_s=0) as alone:
    print(alone, flush=True)
    time.sleep(300)
"""


@pytest.mark.slow
def test_two_containers_never_measure_at_once(tmp_path: Path) -> None:
    left_out = ("ADVISOR_MEASURING_LOCK", "ADVISOR_HOME")
    done = subprocess.run(
        [
            *("unshare", "--time", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *(sys.executable, "-c", TWO_AT_ONCE, MEASURE, *CONTAINER),
        ],
        env={k: v for k, v in os.environ.items() if k not in left_out}
        | {"DJANGO_SETTINGS_MODULE": "advisor.settings", "HOMES": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.stdout == "['True', 'False', 'True']\n", done.stderr
