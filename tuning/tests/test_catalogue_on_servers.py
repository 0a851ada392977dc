"""The catalogue says what the servers that are here say of themselves (--verbose --help)."""

from __future__ import annotations

import re
import subprocess

import pytest

from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.knob import Computed, Kind, Knob, Limits
from tuning.catalogue.loader import load_catalogue
from tuning.configs.target import ServerTraits

pytestmark = pytest.mark.server

# What --help prints for these is not what a started server has.
HELP_MISLEADS = {
    "lower_case_table_names",  # 2 when there is no data directory
    "table_open_cache_instances",  # MariaDB lowers it when it may open few files
}
# Upper bounds that the limit on open files, or max_connections in its place, lowers further.
LOWERED_FURTHER = {"table_open_cache", "max_connections", "thread_cache_size"}


def help_of(binary: ServerBinary, *options: str) -> dict[str, str]:
    """Variables and their values as the server prints them after reading these options."""
    finished = subprocess.run(
        [binary.path, "--no-defaults", "--user=root", *options, "--verbose", "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    _, found, table = finished.stdout.partition("Variables (--variable-name=value)")
    assert found, finished.stderr[-2000:]
    rows = re.findall(r"^([a-z][a-z0-9-]+)[ \t]+(.*?)[ \t]*$", table, re.MULTILINE)
    return {name.replace("-", "_"): value for name, value in rows}


def catalogued(kinds: set[Kind] | None = None) -> list[Knob]:
    return [
        knob
        for knob in load_catalogue().knobs.values()
        if knob.kind is not Kind.FLAG and (kinds is None or knob.kind in kinds)
    ]


def test_the_same_variables_exist(any_server: ServerBinary) -> None:
    target = ServerTraits.of(any_server)
    shown = help_of(any_server)
    assert [k.name for k in catalogued() if k.exists_in(target) != (k.name in shown)] == []


def test_the_defaults_are_the_same(any_server: ServerBinary) -> None:
    target = ServerTraits.of(any_server)
    shown = help_of(any_server)
    differing = {}
    for knob in catalogued():
        default = knob.default(target)
        if not knob.exists_in(target) or isinstance(default, Computed):
            continue
        said = {"(No default value)": None, "": None}.get(shown[knob.name], shown[knob.name])
        if set(knob.values(target)) >= {"ON", "OFF"} or knob.kind is Kind.BOOL:
            said = {"TRUE": "ON", "FALSE": "OFF"}.get(said or "", said)
        if default != said and knob.name not in HELP_MISLEADS:
            differing[knob.name] = (default, said)
    assert differing == {}


@pytest.mark.parametrize(
    ("asked", "expected"), [("low", "low"), ("below", "low"), ("high", "high"), ("above", "high")]
)
def test_the_servers_clamp_at_our_limits(
    asked: str, expected: str, any_server: ServerBinary
) -> None:
    target = ServerTraits.of(any_server)
    wanted: dict[str, float] = {}
    limits: dict[str, Limits] = {}
    for knob in catalogued({Kind.INT, Kind.BYTES, Kind.FLOAT}):
        found = knob.limits(target)
        if found is None or not knob.exists_in(target) or knob.name in HELP_MISLEADS:
            continue
        value = {
            "low": found.low,
            "below": found.low - 1,
            "high": found.high,
            "above": found.high + 1,
        }[asked]
        # 0 often stands for "choose yourself"; below it and from 2^64 on there is no number.
        if 0 < value < 2**64 and not (knob.name in LOWERED_FURTHER and expected == "high"):
            wanted[knob.name], limits[knob.name] = value, found
    shown = help_of(any_server, *(f"--{name}={value}" for name, value in wanted.items()))
    got = {name: float(shown[name]) for name in wanted}
    assert len(got) > 5
    assert got == {name: float(getattr(limits[name], expected)) for name in wanted}
