"""What a test can ask a machine made of namespaces."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from benchmarks.tests.machines import machines, why_not

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]


def test_the_ports_of_a_machine_are_those_of_both_families(tmp_path: Path) -> None:
    with machines(["one"], tmp_path) as made:
        machine = made["one"]
        assert machine.listening() == set()
        with machine.network():
            old = socket.create_server(("127.0.0.1", 0))
            new = socket.create_server(("::1", 0), family=socket.AF_INET6)
        with old, new:
            assert machine.listening() == {one.getsockname()[1] for one in (old, new)}
        assert machine.listening() == set()
