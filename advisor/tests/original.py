"""One process imports the tests, and those that run them are copies of it.

To import them is two thirds of what a process takes to collect them. pytest-xdist starts an
interpreter for each of its processes. Here that is `original.py PATH`, which asks the original
for a copy with its own input and output, and stays until that has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def original(path: str, root: str, tests: list[str], *, is_covered: bool) -> Iterator[str]:
    """The original of a run's processes as long as the block runs; gives the command that asks it
    for a copy. It is asked at `path`; `tests` as they are given to pytest.
    """
    with socket.socket(socket.AF_UNIX) as asked:
        asked.bind(path)
        asked.listen()
        given = [asked.fileno(), int(is_covered), os.getcwd(), *tests]
        running = subprocess.Popen(
            [sys.executable, "-u", "-m", "advisor.tests.original", "--", *map(str, given)],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[asked.fileno()],
        )
    with running:  # it ends when its input does
        yield shlex.join([sys.executable, "-IS", __file__, path])


def _serve(asked: socket.socket, *, is_covered: bool, tests: list[str]) -> None:
    """Import the tests, then make copies until whoever started this has ended."""
    import select
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import(tests, is_covered=is_covered)
    while asked.fileno() in select.select([asked.fileno(), 0], [], [])[0]:
        asking, _ = asked.accept()
        descriptors = socket.recv_fds(asking, 1, 3)[1]
        if os.fork() == 0:
            asked.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            # What execnet has an interpreter do; `asking` is closed when that has ended.
            exec(eval(sys.stdin.readline()), {"__name__": "__main__"})  # noqa: S102, S307
            atexit._run_exitfuncs()
            os._exit(0)  # to free all objects one by one takes a second
        for descriptor in (*descriptors, asking.detach()):
            os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()  # so that their time counts as that of the run


def _import(tests: list[str], *, is_covered: bool) -> None:
    """Have pytest import the tests as it does; what runs meanwhile is covered here only."""
    import pytest
    from coverage import Coverage

    from advisor.tests.seen_lines import note

    coverage = Coverage(data_file=None)
    if is_covered:
        coverage.start()

    class NoTests:
        """Finds none in what was imported: no copy could make use of them."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_pycollect_makeitem(self) -> list[pytest.Item]:
            return []

    # What cannot be imported is reported by the copies, which try again.
    options = ["--collect-only", "-qq", "-p", "no:cacheprovider"]
    pytest.main([*options, *tests], plugins=[NoTests()])
    if is_covered:
        coverage.stop()
        note(coverage.get_data())


def _ask(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as original:
        original.connect(path)
        socket.send_fds(original, [b"1"], [0, 1, 2])
        original.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "--":
        os.chdir(sys.argv[4])
        _serve(
            socket.socket(fileno=int(sys.argv[2])),
            is_covered=sys.argv[3] == "1",
            tests=sys.argv[5:],
        )
    else:
        _ask(sys.argv[1])
