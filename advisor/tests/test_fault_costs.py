"""What `make bench-faults` prints at its end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from advisor.tests.fault_storm.costs import table
from advisor.tests.fault_storm.faults import CENTRE, Fault
from advisor.tests.fault_storm.storm import Strike
from advisor.tests.fault_storm.watch import Seen


def test_what_a_run_lost_is_shared_by_the_faults_that_hit_it() -> None:
    cut = Fault("network cut", "host", lambda *_: True, lambda *_: None, seconds=40)
    web = Fault("web server killed", CENTRE, lambda *_: True)
    states = {1: "ok", 2: "ok", 3: "lost", 4: "ok", 5: "ok", 6: "running"}
    seen = {
        # A run takes 4 s before the first fault.
        1: Seen("db1", 0.0, 4.0),
        2: Seen("db1", 4.5, 8.0),
        3: Seen("db1", 8.5, 20.0),  # during the cut
        4: Seen("db1", 21.0, 26.0),  # 2 s late: during the cut, and the web server was killed
        5: Seen("db2", 60.0, 90.0),  # nothing hit this one
        6: Seen("db1", 70.0),
    }
    storm: Any = SimpleNamespace(
        strikes=[Strike(cut, "db1", 10.0), Strike(web, CENTRE, 22.0)],
        watch=SimpleNamespace(runs=seen),
        scene=SimpleNamespace(
            asks=["db1", "db2"],
            place=SimpleNamespace(
                rows=lambda _: [{"id": pk, "state": state} for pk, state in states.items()]
            ),
        ),
    )
    assert table(storm, "A storm").splitlines()[4:] == [
        "| network cut | 1 |  | 1 |  |  |  | 13.0 |",
        "| web server killed | 1 | 1 |  |  |  |  | 1.0 |",
        "| all | 2 | 1 | 1 |  |  |  | 7.0 |",
    ]
