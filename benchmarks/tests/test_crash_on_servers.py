"""A real server, killed under load, serves again, and nothing of it is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.measurement.crash_test import crash_test
from benchmarks.measurement.plan import Plan
from benchmarks.servers.binary import ServerBinary

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_a_killed_server_is_timed_until_it_serves_again(
    any_server: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    plan, steps = plan_on(any_server), list[str]()
    [found] = crash_test(plan, load_s=1.0, kills=1, report=steps.append, should_stop=lambda: False)
    assert found.seconds > 0
    assert found.checkpoint_age_bytes is not None
    assert found.checkpoint_age_bytes > 0, "it was killed with redo to apply"
    assert found.redo_capacity_bytes is not None
    assert steps[-3:] == [
        "loading before kill 1 of 1",
        "recovering, 1 of 1",
        "discarding the clone",
    ]
    assert not list(plan.layout.run_dir("").iterdir())
