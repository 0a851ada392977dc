"""`make bench-faults` in short: one fault of every kind, on hosts that start no servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from advisor.tests.fault_storm import clock
from advisor.tests.fault_storm.checks import wrong_after
from advisor.tests.fault_storm.faults import faults
from advisor.tests.fault_storm.scene import Scene, scene
from advisor.tests.fault_storm.storm import Storm
from advisor.tests.fault_storm.watch import Watch
from advisor.tests.fleet import centre
from benchmarks.servers.binary import ServerBinary

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why := centre.why_not() or clock.why_not()), reason=why),
]


@pytest.fixture
def there(
    server_session_tmp: Path,
    mariadb_binary: ServerBinary,
    migrated_postgres: Callable[[Path], None],
) -> Iterator[Scene]:
    folder = server_session_tmp / "storm"
    folder.mkdir(mode=0o755)
    asks = {"db1": "A/A", "db2": "A/B"}
    with scene(
        folder,
        mariadb_binary,
        seed=1,
        asks=asks,
        blocks=3,
        fakes=asks,
        migrated=migrated_postgres,
    ) as made:
        yield made


def test_a_fault_of_every_kind_costs_no_measurement_and_leaves_nothing(there: Scene) -> None:
    watch = Watch(there)
    storm = Storm(there, watch, faults(patience=0.1), mean_s=0.5, patience_s=300)
    with watch.notes():
        storm.rage(len(storm.kinds))
    undisturbed = {"A/A": ("no_difference", "server-default"), "A/B": ("winner", "mine")}
    assert wrong_after(there, watch, undisturbed) == []
    assert {strike.fault for strike in storm.strikes} == {*storm.kinds}
