"""Every preset, exported and read again, starts on the servers and runs as it asked to."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import running_server
from benchmarks.tests.quick import QUICK
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_file, plan_preset
from tuning.configs.presets import preset_names
from tuning.configs.readback import differences
from tuning.configs.situation import Situation
from tuning.configs.variables import CLEANERS, INSTANCES
from tuning.tests.export_cases import facts, rendered

RESOURCES = HostResources(2 * 1024**3, 2, data_bytes=1000 * 1024**2)
# Lowered by the server where it may not open enough files, as in many containers.
NEED_OPEN_FILES = {"table_open_cache", "table_open_cache_instances"}
ENOUGH_OPEN_FILES = 1_100_000
# A pool below 1 GiB has one instance; that is remarked on and shown as a difference.
BELOW_1_GIB = {INSTANCES, CLEANERS}
# About different variables: they share a start.
TOGETHER = ("dedicated-server", "io-capacity-10000")

pytestmark = [pytest.mark.server, pytest.mark.slow]


def exported(preset: str, target: ServerTraits) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The knobs of a preset, and as they come back from the file that a user would be given.

    The file leaves out what the server has by itself.
    """
    planned = plan_preset(preset, Situation(target, RESOURCES))
    text = rendered(
        facts(server=target, candidate=preset, knobs=planned.knobs, notes=planned.notes)
    )
    knobs = plan_file("my.cnf", text.encode(), target).knobs
    assert knobs.items() <= planned.knobs.items()
    return planned.knobs, knobs


def starts(target: ServerTraits) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """As from `exported`, for those whose lines are not all in the file of another; every value
    that a preset asks for is asked for in one of them.
    """
    # Every other test starts the default.
    alone = set(preset_names()) - {"server-default", *TOGETHER}
    found: list[tuple[dict[str, str], dict[str, str]]] = []
    for names in (TOGETHER, *((name,) for name in sorted(alone))):
        asked: dict[str, str] = {}
        knobs: dict[str, str] = {}
        for name in names:
            more, lines = exported(name, target)
            assert not asked.keys() & more.keys()
            asked |= more
            knobs |= lines
        if (asked, knobs) not in found:
            found.append((asked, knobs))
    wanted = {item for asked, _ in found for item in asked.items()}
    for asked, knobs in found:
        if not any(knobs.items() < others.items() for _, others in found):
            wanted -= asked.items()
            yield asked, knobs
    assert not wanted


def test_presets_start_and_read_back_as_asked(
    any_server: ServerBinary,
    fresh_data_dir: Callable[..., Path],
    server_tmp: Path,
) -> None:
    data_dir = fresh_data_dir(any_server)
    few_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1] < ENOUGH_OPEN_FILES
    excused = BELOW_1_GIB | (NEED_OPEN_FILES if few_files else set())
    target = ServerTraits.of(any_server)
    for number, (asked, knobs) in enumerate(starts(target)):
        with running_server(
            any_server,
            data_dir=data_dir,
            run_dir=server_tmp / f"{number}",
            # Of these none that a preset asks for, be it the server's own value.
            options={**{name: QUICK[name] for name in QUICK if name not in asked}, **knobs},
        ) as server:
            differing = differences(asked, server.variables(), target)
        assert [found for found in differing if found.name not in excused] == [], knobs
