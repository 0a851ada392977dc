"""What a job's programs leave behind ends with the job, and nothing else does."""

from __future__ import annotations

import subprocess

import psutil

from benchmarks.servers.orphans import none_left_behind


def test_only_what_the_block_left_behind_is_ended() -> None:
    leaves_one = "sleep 60 >&2 & echo $!"
    with subprocess.Popen(["sleep", "60"]) as earlier:
        try:
            with none_left_behind():
                left = subprocess.run(
                    ["sh", "-c", leaves_one],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    check=True,
                    text=True,
                )
                assert psutil.pid_exists(int(left.stdout))
            assert earlier.poll() is None
            assert not psutil.pid_exists(int(left.stdout))
        finally:
            earlier.kill()
