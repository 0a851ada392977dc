"""Checks a my.cnf without a study: the first two stages of the gate; nothing is stored.

The last two stages start the server, which would disturb a measurement on this host. They are part
of a study's preparation (`tuning.studies.trials`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.errors import about
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.check import ConfigReport, import_cnf
from tuning.configs.expected import HostFacts
from tuning.configs.price import KnobCost, costs_of, durability_of, losses, may_lose
from tuning.configs.values import render_cnf
from tuning.creation.hosts import what_host_has
from tuning.creation.plan import Plan
from tuning.errors import BadRequest
from tuning.export.texts import WARNINGS
from tuning.requests.configs import origin_of
from tuning.scale_model.model import file_fit
from tuning.studies.host_resources import facts_of_host


@dataclass(frozen=True)
class CheckedText:
    """The report on a my.cnf, line by line."""

    report: ConfigReport

    @property
    def target(self) -> ServerTraits:
        """The server that it was checked for."""
        return self.report.target

    @property
    def cnf(self) -> str:
        """The resulting my.cnf, below D0 with warnings first; "" if something was refused."""
        if self.report.problems:
            return ""
        return warned_cnf({**self.report.knobs, **self.report.applied}, self.target)

    @property
    def durability(self) -> Durability:
        """The durability class of the resulting my.cnf."""
        return durability_of(self.report.knobs, self.target)

    @property
    def costs(self) -> list[KnobCost]:
        """The costs of the effective values, other than durability."""
        return costs_of(self.report.knobs, self.target)


def check_text(
    data: bytes,
    *,
    name: str,
    target: ServerTraits | None = None,
    host: str = "",
    translate_from: str = "",
    connections: int | None = None,
) -> CheckedText:
    """Check a my.cnf for `target`, by default for the usual server and directory of `host`.

    Rules that depend on the host are applied only without a `target`. Raises BadRequest for a
    `translate_from` that names no server, NoServerFound, and like `what_host_has`.
    """
    try:
        origin = origin_of(translate_from)
    except ValueError as error:
        raise BadRequest(f"translate_from is {error}", field="translate_from") from None
    facts = HostFacts(connections=connections)
    if target is None:
        inventory = what_host_has(host)
        with about("server"):
            binary = inventory.server(None)
        target = ServerTraits.of(binary)
        facts = replace(
            facts_of_host(inventory, {None}, connections),
            server_options=inventory.options_of(binary),
        )
    return CheckedText(import_cnf(data, name, target, translate_from=origin, host=facts))


def check_in_plan(plan: Plan, name: str, data: bytes) -> CheckedText:
    """Check a my.cnf for the server, host and devices of a plan, as creating the study would.

    In a scale model the file is that of the real server.
    """
    situation, origin = plan.situation, plan.request.origin
    fit = file_fit(plan.model, situation)
    facts = fit.written_for if fit else situation.host
    return CheckedText(import_cnf(data, name, situation.target, translate_from=origin, host=facts))


def warned_cnf(knobs: Mapping[str, str], target: ServerTraits) -> str:
    """Return a my.cnf of normalised knobs, with warnings first and below D0 the class."""
    given = durability_of(knobs, target)
    lines = [WARNINGS[given]] if given > Durability.D0 else []
    for name, lost in losses(knobs, target).items():
        lines.append(f"WARNING: {may_lose(name, knobs[name], lost)}.")
    lines += [f"{one.text}." for one in costs_of(knobs, target)]
    return "".join(f"# {line}\n" for line in lines) + render_cnf(knobs, target)
