"""`manage.py gate`: may this config, or this server, take the place of that one?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from rich.console import Console

from advisor.management.listing import look_here
from advisor.management.measuring import MeasuringCommand
from advisor.management.request_options import (
    absolute_path,
    add_request_options,
    given,
    output_file,
)
from advisor.processes.database import prepare_database
from tuning.configs.parse import read_cnf
from tuning.creation.gates import create_gate
from tuning.gate_facts import ERROR, GATE_FILES, gate_facts, gate_json
from tuning.models import Study
from tuning.requests.configs import ConfigText
from tuning.requests.fields import read_request
from tuning.requests.gate import GateRequest, GateSide

#: By verdict; an error is 2.
EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3}
_ERROR = 2


class Command(MeasuringCommand):
    help = (
        "Measure a candidate against a baseline until limits are kept or broken. Exits with 0 "
        "(pass), 1 (fail), 3 (undecided) or 2 (error)."
    )
    refusal_status = senseless_status = _ERROR
    requests = (GateSide, GateRequest)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default="gate", help="its history goes by this")
        parser.add_argument(
            "--config", metavar="FILE|NAME", help="the candidate: a my.cnf, or as --baseline"
        )
        parser.add_argument(
            "--baseline",
            default="",
            metavar="FILE|NAME",
            help="a my.cnf, 'default', the hash of a stored config, study:ID, or the name of a "
            "study whose recommendation it is (default: the server's defaults)",
        )
        add_request_options(parser, GateSide, leave_out=["config", "stored"])
        parser.add_argument(
            "--baseline-server",
            type=absolute_path,
            metavar="PATH_TO_MYSQLD",
            help="the baseline's server (default: the host's first)",
        )
        parser.add_argument(
            "--device", type=absolute_path, metavar="DIR", help="a directory on the device"
        )
        add_request_options(
            parser, GateRequest, leave_out=["name", "candidate", "baseline", "device"]
        )
        for name in GATE_FILES:
            parser.add_argument(
                f"--{name}", type=output_file, metavar="FILE", help=f"write it as {name}"
            )
        parser.add_argument("--json", action="store_true", help="write the result to stdout")

    def run(self, options: dict[str, Any]) -> None:
        request = read_options(options)
        prepare_database(runs_a_worker=True)
        is_here = request.host == settings.HOST_NAME
        if is_here:
            servers = (request.baseline.server, request.candidate.server)
            directory = request.device.path
            look_here([one for one in servers if one], [directory] if directory else [])
        study = create_gate(request, wake=not is_here)
        self.follow([study], Console(stderr=True), is_here=is_here)
        self._show(study, options)

    def _show(self, study: Study, options: dict[str, Any]) -> None:
        facts = gate_facts(study)
        for name, (_, make) in GATE_FILES.items():
            if path := options[name]:
                try:
                    path.write_text(make(facts), encoding="utf-8")
                except OSError as error:
                    self.fail(f"output_not_writable: {error}")
        if options["json"]:
            self.write_json(gate_json(facts))
        else:
            self.stdout.write(f"{facts.verdict}: {facts.reason}")
        found = facts.result
        spent = f" after {found.pairs} pairs, {found.seconds / 60:.1f} minutes" if found else ""
        self.stderr.write(f"Gate {study.pk}: {facts.verdict}{spent}.")
        sys.exit(_ERROR if facts.verdict == ERROR else EXIT_CODES[facts.verdict])


def read_options(options: dict[str, Any]) -> GateRequest:
    """Raises BadRequest, and InvalidConfig for a file that is none."""
    content: dict[str, Any] = {
        "host": settings.HOST_NAME,
        "candidate": _side(options["config"] or "", options["server"])
        | {"knobs": options["knobs"]},
        "baseline": _side(options["baseline"], options["baseline_server"]),
    }
    if options["device"]:
        content["device"] = {"path": options["device"]}
    fields = given(GateRequest, options | dict.fromkeys(content))
    return read_request(
        GateRequest, content | fields | {"host": options["host"] or content["host"]}
    )


def _side(config: str, server: Path | None) -> dict[str, Any]:
    """A path if there is such a file, else a name."""
    file = Path(config).expanduser() if config else None
    if file is not None and (file.exists() or file.suffix == ".cnf"):
        return {"config": ConfigText.of(file.stem, read_cnf(file)), "server": server}
    return {"stored": config, "server": server}
