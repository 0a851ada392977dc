"""Every preset starts on the servers that are here and runs with the values it asked for."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import running_server
from tuning.configs.candidates import plan_preset
from tuning.configs.presets import preset_names
from tuning.configs.readback import differences
from tuning.configs.target import ServerTraits

TEN_WAREHOUSES = 1000 * 1024**2
# Lowered by the server where it may not open enough files, as in many containers.
NEED_OPEN_FILES = {"table_open_cache", "table_open_cache_instances"}
ENOUGH_OPEN_FILES = 1_100_000

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_presets_start_and_read_back_as_asked(
    any_server: ServerBinary,
    fresh_data_dir: Callable[..., Path],
    server_tmp: Path,
    registry: Path,
) -> None:
    target = ServerTraits.of(any_server)
    data_dir = fresh_data_dir(any_server)
    few_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1] < ENOUGH_OPEN_FILES
    excused = NEED_OPEN_FILES if few_files else set()
    for name in preset_names():
        knobs = plan_preset(name, target, data_bytes=TEN_WAREHOUSES).knobs
        with running_server(
            any_server,
            data_dir=data_dir,
            run_dir=server_tmp / name,
            registry=registry,
            options=knobs,
        ) as server:
            differing = differences(knobs, server.variables(), target)
        assert [found for found in differing if found.name not in excused] == [], name
