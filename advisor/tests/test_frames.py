"""Calls from any depth take no memory from the kernel each time."""

from __future__ import annotations

import resource
import threading

from advisor.processes.frames import with_room

CALLS = 100


def leaf() -> int:
    """Its frame is larger than those of `faults`, so that it does not fit behind one of them."""
    return max(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)


def faults(depth: int) -> int:
    """Pages that the kernel had to give for calls of a function from that depth."""
    if depth:
        return faults(depth - 1)
    leaf()
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        leaf()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def test_no_loop_is_so_deep_that_each_call_asks_for_memory() -> None:
    found: list[int] = []
    first = 10

    @with_room
    def look(last: int) -> None:
        found.extend(faults(depth) for depth in range(first, last))

    thread = threading.Thread(target=look, args=(400,))  # a new one has no room yet
    thread.start()
    thread.join()
    assert len(found) == 390
    assert max(found) < CALLS
