"""At the end of a long run: which modules of tests took the most processor time.

Where processes wait for processors, how long a test took says little of what it costs.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import pytest

#: By module; with the processes that a test started and waited for.
_SPENT_S = pytest.StashKey[dict[str, float]]()
#: What had been spent when the first test of a module began.
_BEGUN = pytest.StashKey[float]()
_MIN_TOTAL_S = 60
_SHOWN = 25


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SPENT_S] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """To look before and after each test would be a twentieth of the time of the shortest."""
    module, stash = item.nodeid.partition("::")[0], item.config.stash
    if _BEGUN not in stash:
        stash[_BEGUN] = used_s()
    result = yield
    if nextitem is None or nextitem.nodeid.partition("::")[0] != module:
        add(item.config, {module: used_s() - stash[_BEGUN]})
        del stash[_BEGUN]
    return result


def add(config: pytest.Config, spent: dict[str, float]) -> None:
    total = config.stash[_SPENT_S]
    for module, seconds in spent.items():
        total[module] = total.get(module, 0.0) + seconds


def used_s() -> float:
    """Of this process and those that it has waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a process of pytest-xdist
        session.config.workeroutput["cpu_s"] = session.config.stash[_SPENT_S]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    add(node.config, getattr(node, "workeroutput", {}).get("cpu_s", {}))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    spent = config.stash[_SPENT_S]
    total = sum(spent.values())
    if total < _MIN_TOTAL_S:
        return
    terminalreporter.section(f"processor time: {total:.0f} s in tests")
    for module, seconds in sorted(spent.items(), key=itemgetter(1), reverse=True)[:_SHOWN]:
        terminalreporter.write_line(f"{seconds:7.1f} s  {module}")
