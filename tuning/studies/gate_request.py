"""What a gate asks: a candidate and a baseline, and what no host could do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.inventory.device_lookup import DeviceRequest
from benchmarks.models import BinaryLog
from tuning.catalogue.knob import Durability
from tuning.statistics.gate import GatePlan
from tuning.studies.request import MAX_SETTINGS, BadRequest, StudyRequest

MAX_GATE_NAME = 100


@dataclass(frozen=True)
class GateSide:
    """One side of a gate. Of `file` (name, content) and `stored` one at most is set.

    stored: as in `named_config`. Without either a baseline has the server's defaults and a
    candidate the baseline's config. knobs: what is changed of that, by name. server: path of the
    program; None for the baseline's, and of that the host's first.
    """

    file: tuple[str, bytes] | None = None
    stored: str = ""
    server: Path | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)

    @property
    def names_config(self) -> bool:
        return self.file is not None or bool(self.stored)


@dataclass(frozen=True)
class GateRequest:
    """A request for a gate; sizes that are None are those of the usual template.

    `name` is what its history goes by. `durability` is the least safe class of either config.
    `binary_log` holds for both sides; by default each server does what it does by itself.
    """

    name: str
    candidate: GateSide
    baseline: GateSide = GateSide()
    plan: GatePlan = field(default_factory=GatePlan)
    host: str = ""
    device: DeviceRequest = field(default_factory=DeviceRequest)
    driver: str = "auto"
    load_hosts: tuple[str, ...] = ()
    warehouses: int | None = None
    connections: int | None = None
    warmup_s: int | None = None
    measure_s: int | None = None
    budget_minutes: int | None = None
    durability: Durability = Durability.D0
    binary_log: BinaryLog = BinaryLog.DEFAULT
    seed: int | None = None

    def study_request(self) -> StudyRequest:
        """What it has in common with any study."""
        return StudyRequest(
            name=self.name,
            host=self.host,
            devices=[self.device],
            server=self.baseline.server,
            driver=self.driver,
            load_hosts=self.load_hosts,
            warehouses=self.warehouses,
            connections=None if self.connections is None else [self.connections],
            warmup_s=self.warmup_s,
            measure_s=self.measure_s,
            blocks=self.plan.max_pairs,
            budget_minutes=self.budget_minutes,
            durability=self.durability,
        )


def check_request(request: GateRequest) -> None:
    """Raises BadRequest for what no host could do."""
    name = request.name
    if not name.strip() or not name.isprintable() or len(name) > MAX_GATE_NAME:
        reason = f"a gate needs a name of 1 to {MAX_GATE_NAME} printable characters"
        raise BadRequest(reason, field="name")
    for label, side in (("candidate", request.candidate), ("baseline", request.baseline)):
        if side.file is not None and side.stored:
            raise BadRequest("name a file or a stored config, not both", field=f"{label}.stored")
        if len(side.knobs) > MAX_SETTINGS:
            reason = f"at most {MAX_SETTINGS} variables can be changed; write a my.cnf"
            raise BadRequest(reason, field=f"{label}.knobs")
    ours = request.candidate
    if not (ours.names_config or ours.knobs or ours.server is not None):
        raise BadRequest(
            "a candidate has a config, variables or a server of its own", field="candidate"
        )
