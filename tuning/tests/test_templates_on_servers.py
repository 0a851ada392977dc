"""The variants of templates start on the servers and run as they asked to."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import running_server
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_candidates
from tuning.configs.effective.readback import differences
from tuning.study_templates.loader import load_template

RESOURCES = HostResources(8 * 1024**3, 2, data_bytes=1000 * 1024**2)
# Lowered by the server where it may not open enough files, as in many containers.
NEED_OPEN_FILES = {"table_open_cache", "table_open_cache_instances"}
ENOUGH_OPEN_FILES = 1_100_000

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.parametrize("name", ["flush-method", "buffer-pool", "durability-price"])
def test_variants_start_and_read_back_as_asked(
    name: str,
    any_server: ServerBinary,
    fresh_data_dir: Callable[..., Path],
    server_tmp: Path,
    registry: Path,
) -> None:
    target = ServerTraits.of(any_server)
    template = load_template(name)
    data_dir = fresh_data_dir(any_server)
    few_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1] < ENOUGH_OPEN_FILES
    excused = NEED_OPEN_FILES if few_files else set()
    planned = plan_candidates(template, [], target, resources=RESOURCES)
    # The extremes: a start takes a second or two.
    for plan in (planned[0], planned[-1]):
        with running_server(
            any_server,
            data_dir=data_dir,
            run_dir=server_tmp / plan.name,
            registry=registry,
            options=plan.knobs,
        ) as server:
            differing = differences(plan.knobs, server.variables(), target)
        assert [found for found in differing if found.name not in excused] == [], plan.name
