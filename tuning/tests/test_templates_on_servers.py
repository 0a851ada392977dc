"""The variants and proposals of templates start on the servers and run as they asked to."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import running_server
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.quick import QUICK
from tuning.catalogue.costs import CostKind
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_candidates
from tuning.configs.expected import HostFacts
from tuning.configs.readback import differences
from tuning.configs.situation import DeviceFacts, Situation
from tuning.configs.variables import CLEANERS, INSTANCES
from tuning.proposals.rules import plan_proposal
from tuning.study_templates.loader import load_template

# A larger host has larger buffer pools, to make which takes the server longer.
MEMORY = 2 * 1024**3
RESOURCES = HostResources(MEMORY, 2, data_bytes=1000 * 1024**2)
# Lowered by the server where it may not open enough files, as in many containers.
NEED_OPEN_FILES = {"table_open_cache", "table_open_cache_instances"}
# A server makes one instance of a small buffer pool, as a remark of the check says.
BELOW_1_GIB = {INSTANCES, CLEANERS}
ENOUGH_OPEN_FILES = 1_100_000

pytestmark = [pytest.mark.server, pytest.mark.slow]


def check_start(
    server: ServerBinary,
    data_dir: Path,
    run_dir: Path,
    knobs: Mapping[str, str],
) -> None:
    """It starts, and every variable is as it was asked for."""
    few_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1] < ENOUGH_OPEN_FILES
    excused = BELOW_1_GIB | (NEED_OPEN_FILES if few_files else set())
    with running_server(
        server,
        data_dir=data_dir,
        run_dir=run_dir,
        options={**QUICK, **knobs},
    ) as running:
        differing = differences(knobs, running.variables(), ServerTraits.of(server))
    assert [found for found in differing if found.name not in excused] == [], knobs


# Two templates about different variables share a start.
@pytest.mark.parametrize("names", [("flush-method", "durability-price"), ("buffer-pool",)])
def test_variants_start_and_read_back_as_asked(
    names: tuple[str, ...],
    any_server: ServerBinary,
    fresh_data_dir: Callable[..., Path],
    server_tmp: Path,
) -> None:
    target = ServerTraits.of(any_server)
    data_dir = fresh_data_dir(any_server)
    planned = [
        plan_candidates(load_template(name), [], Situation(target, RESOURCES)) for name in names
    ]
    # The extremes: a start takes a second or two.
    for end in (0, -1):
        knobs: dict[str, str] = {}
        for plans in planned:
            assert not knobs.keys() & plans[end].knobs.keys()
            knobs |= plans[end].knobs
        check_start(any_server, data_dir, server_tmp / f"run{end}", knobs)


def test_proposals_start_and_read_back_as_asked(
    any_server: ServerBinary,
    fresh_data_dir: Callable[..., Path],
    server_tmp: Path,
) -> None:
    target = ServerTraits.of(any_server)
    host = HostFacts(MEMORY, 32, True, 2, MEMORY)
    situation = Situation(
        target,
        RESOURCES,
        host,
        DeviceFacts(DeviceKind.HDD, 150, 200, 9000, free_bytes=2 * 1024**3),
        allowed=frozenset(CostKind),
    )
    data_dir = fresh_data_dir(any_server)
    # Those with the most lines, with all that costs.
    for name in ("advisor", "callaghan", "kravtchuk"):
        plan = plan_proposal(name, situation)
        check_start(any_server, data_dir, server_tmp / name, plan.knobs)
