"""Checks a my.cnf without a study: the first two stages of the gate; nothing is stored.

The last two stages start the server, which would disturb a measurement on this host. They are part
of a study's preparation (`tuning.studies.trials`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.emulation.shipped import throttles
from benchmarks.errors import about
from benchmarks.inventory.device_lookup import DeviceSpec
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.costs import KnobCost, costs_of
from tuning.configs.effective.durability import durability_of, losses, may_lose
from tuning.configs.effective.host import UNKNOWN, HostFacts
from tuning.configs.gate.check import import_cnf
from tuning.configs.gate.report import ImportReport
from tuning.configs.knobs import render_cnf
from tuning.configs.translation.origin import ANY_VERSION, Origin
from tuning.creation.devices import device_specs, usual_memory
from tuning.creation.hosts import what_host_has
from tuning.errors import BadRequest
from tuning.export.safety import WARNINGS
from tuning.requests.configs import origin_of
from tuning.requests.device import DeviceRequest
from tuning.studies.host_resources import facts_of_host


@dataclass(frozen=True)
class CheckedText:
    """The report line by line and the resulting my.cnf; "" if something was refused.

    Below D0 the file begins with warnings. `translatable` counts the refused lines that would be
    accepted if the file were translated from an older version.
    """

    report: ImportReport
    target: ServerTraits
    cnf: str
    translatable: int

    @property
    def durability(self) -> Durability:
        """The durability class of the resulting my.cnf."""
        return durability_of(self.report.knobs, self.target)

    @property
    def costs(self) -> list[KnobCost]:
        """What its effective values cost, other than durability."""
        return costs_of(self.report.knobs, self.target)


def check_text(
    data: bytes,
    *,
    name: str,
    target: ServerTraits | None = None,
    host: str = "",
    server: Path | None = None,
    devices: Sequence[DeviceRequest] = (),
    warehouses: int | None = None,
    translate_from: str = "",
    durability: Durability = Durability.D0,
    connections: int | None = None,
    memory: int | None = None,
) -> CheckedText:
    """Check a my.cnf for `target`, by default for the server of a study on `host`.

    `server` is the program of that server; `devices` default to the usual one. Emulated devices
    have the memory limit that a study with that many `warehouses` gives them. Rules that depend on
    the host are applied only for such a server. `memory` are the bytes of the real server that the
    host is to measure a scale model of. Raises BadRequest for a `translate_from` that names no
    server, NoServerFound, NotListed or NotAServer, and like `what_host_has`.
    """
    try:
        origin = origin_of(translate_from)
    except ValueError as error:
        raise BadRequest(f"translate_from is {error}", field="translate_from") from None
    if target is None:
        named = device_specs(devices) or [DeviceSpec()]
        inventory = what_host_has(host, named)
        with about("server"):
            target = ServerTraits.of(inventory.server(server))
        paths = {one.path for one in named}
        limits = [_memory_limit(one, warehouses, target) for one in named]
        least = min((limit for limit in limits if limit is not None), default=None)
        facts = facts_of_host(inventory, paths, connections, least)
        if memory is not None:
            facts = replace(facts, memory_budget_bytes=memory, host_memory_bytes=memory)
    else:
        facts = HostFacts(connections=connections) if connections else UNKNOWN

    def report_from(origin: Origin | None) -> ImportReport:
        return import_cnf(
            data, name, target, translate_from=origin, durability=durability, host=facts
        )

    report, translatable = report_from(origin), 0
    if report.value_problems and origin is None:
        refused = {problem.line for problem in report_from(ANY_VERSION).value_problems}
        translatable = sum(problem.line not in refused for problem in report.value_problems)
    cnf = "" if report.problems else warned_cnf(report.knobs, target)
    return CheckedText(report, target, cnf, translatable)


def _memory_limit(device: DeviceSpec, warehouses: int | None, target: ServerTraits) -> int | None:
    if device.memory_bytes is None and throttles(device.emulate) and warehouses is not None:
        return usual_memory(warehouses, target.flavour)
    return device.memory_bytes


def warned_cnf(knobs: Mapping[str, str], target: ServerTraits) -> str:
    """A my.cnf of normalised knobs; it begins with warnings, and below D0 with the class."""
    given = durability_of(knobs, target)
    lines = [WARNINGS[given]] if given > Durability.D0 else []
    for name, lost in losses(knobs, target).items():
        lines.append(f"WARNING: {may_lose(name, knobs[name], lost)}.")
    lines += [f"{one.text}." for one in costs_of(knobs, target)]
    return "".join(f"# {line}\n" for line in lines) + render_cnf(knobs, target)
