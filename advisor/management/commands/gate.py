"""`manage.py gate`: may this config, or this server, take the place of that one?"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from advisor.management.looking import look_here
from advisor.management.output import output_file
from advisor.management.refusals import ends_without_database
from advisor.processes.database import prepare_database
from advisor.processes.interrupts import end_like_ctrl_c
from advisor.processes.supervisor import Supervisor
from advisor.terminal.follow import follow
from benchmarks.errors import ExpectedError
from benchmarks.inventory.device_lookup import DeviceRequest
from benchmarks.models import BinaryLog
from tuning.catalogue.knob import Durability
from tuning.configs.files.cnf import read_cnf
from tuning.errors import InvalidConfig, TuningError
from tuning.export.gate_files import ERROR, GATE_FILES, gate_json
from tuning.models import Study
from tuning.results.gate_facts import gate_facts
from tuning.statistics.gate import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LIMITS,
    DEFAULT_PAIRS,
    GatePlan,
    Limit,
)
from tuning.studies.gate_request import GateRequest, GateSide
from tuning.studies.gates import create_gate
from tuning.studies.lifecycle import cancel_study
from tuning.studies.request import BadRequest

#: By verdict; an error is 2.
EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3}
_ERROR = 2


class Command(BaseCommand):
    help = (
        "Measure a candidate against a baseline until limits are kept or broken. Exits with 0 "
        "(pass), 1 (fail), 3 (undecided) or 2 (error)."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        limits = ", ".join(limit.typed for limit in DEFAULT_LIMITS)
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
        parser.add_argument(
            "--set",
            type=_knob,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="change that of the candidate's config, by default the baseline's; repeatable",
        )
        parser.add_argument(
            "--server", type=Path, metavar="PATH_TO_MYSQLD", help="the candidate's server"
        )
        parser.add_argument(
            "--baseline-server",
            type=Path,
            metavar="PATH_TO_MYSQLD",
            help="the baseline's server (default: the host's first)",
        )
        parser.add_argument(
            "--limit",
            type=_limit,
            action="append",
            metavar="LIMIT",
            help=f"such as 'p95 +5%%'; may be repeated (default: {limits.replace('%', '%%')})",
        )
        parser.add_argument(
            "--confidence",
            type=float,
            default=DEFAULT_CONFIDENCE * 100,
            metavar="PERCENT",
            help="of each decision (default: %(default)g)",
        )
        parser.add_argument(
            "--pairs",
            type=int,
            default=DEFAULT_PAIRS,
            metavar="N",
            help="the most pairs to measure (default: %(default)s)",
        )
        parser.add_argument("--budget", type=int, metavar="MINUTES", help="the most time to take")
        parser.add_argument(
            "--durability",
            default=Durability.D0.value,
            choices=[one.value for one in Durability],
            help="the least safe class that either config may have (default: %(default)s)",
        )
        parser.add_argument(
            "--binlog",
            default=BinaryLog.DEFAULT.value,
            choices=BinaryLog.values,
            help="the binary log of both sides: on, which is also synced and has rows unless a "
            "config says otherwise, off, or what each server does by default",
        )
        parser.add_argument(
            "--host", default=settings.HOST_NAME, metavar="NAME", help="the host to measure on"
        )
        parser.add_argument("--device", type=Path, metavar="DIR", help="a directory on the device")
        parser.add_argument("--driver", default="auto", choices=["auto", "tpcc-mysql", "sysbench"])
        parser.add_argument("--load-host", action="append", default=[], metavar="NAME")
        parser.add_argument("--warehouses", type=int, metavar="N")
        parser.add_argument("--connections", type=int, metavar="N")
        parser.add_argument("--warmup", type=int, metavar="S", help="warm-up, in seconds")
        parser.add_argument("--measure", type=int, metavar="S", help="measured, in seconds")
        for name in GATE_FILES:
            parser.add_argument(
                f"--{name}", type=output_file, metavar="FILE", help=f"write it as {name}"
            )
        parser.add_argument("--json", action="store_true", help="write the result to stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        end_like_ctrl_c()
        with ends_without_database(self, status=_ERROR):
            self._judge(options)

    def _judge(self, options: dict[str, Any]) -> None:
        console = Console(stderr=True)
        try:
            request = _request(options)
            prepare_database(runs_a_worker=True)
            if request.host == settings.HOST_NAME:
                servers = (request.baseline.server, request.candidate.server)
                directory = request.device.path
                look_here([one for one in servers if one], [directory] if directory else [])
            study = _run(request, console)
        except InvalidConfig as refused:
            self._fail("invalid_config: " + "; ".join(map(str, refused.problems)))
        except ExpectedError as error:
            self._fail(f"{error.code}: {error}{f' ({error.field})' if error.field else ''}")
        except KeyboardInterrupt:
            self._fail("interrupted: the gate was cancelled")
        else:
            self._show(study, options)

    def _fail(self, line: str) -> NoReturn:
        self.stderr.write(line)
        sys.exit(_ERROR)

    def _show(self, study: Study, options: dict[str, Any]) -> None:
        facts = gate_facts(study)
        for name, (_, make) in GATE_FILES.items():
            if path := options[name]:
                try:
                    path.write_text(make(facts), encoding="utf-8")
                except OSError as error:
                    self._fail(f"output_not_writable: {error}")
        if options["json"]:
            self.stdout.write(json.dumps(gate_json(facts), indent=2))
        else:
            self.stdout.write(f"{facts.verdict}: {facts.reason}")
        self.stderr.write(
            f"Gate {study.pk}: {facts.verdict} after {facts.pairs} pairs, "
            f"{facts.seconds / 60:.1f} minutes."
        )
        sys.exit(_ERROR if facts.verdict == ERROR else EXIT_CODES[facts.verdict])


def _request(options: dict[str, Any]) -> GateRequest:
    """Raises BadRequest, and InvalidConfig for a file that is none."""
    try:
        plan = GatePlan(
            tuple(options["limit"] or DEFAULT_LIMITS),
            options["confidence"] / 100,
            options["pairs"],
        )
    except ValueError as error:
        raise BadRequest(str(error)) from None
    return GateRequest(
        name=options["name"],
        candidate=replace(
            _side(options["config"] or "", options["server"]), knobs=dict(options["set"])
        ),
        baseline=_side(options["baseline"], options["baseline_server"]),
        plan=plan,
        host=options["host"],
        device=DeviceRequest(options["device"] and options["device"].absolute()),
        driver=options["driver"],
        load_hosts=tuple(options["load_host"]),
        warehouses=options["warehouses"],
        connections=options["connections"],
        warmup_s=options["warmup"],
        measure_s=options["measure"],
        budget_minutes=options["budget"],
        durability=Durability(options["durability"]),
        binary_log=BinaryLog(options["binlog"]),
    )


def _side(config: str, server: Path | None) -> GateSide:
    """A path if there is such a file, else a name."""
    path = server and server.expanduser().absolute()
    file = Path(config).expanduser() if config else None
    if file is not None and (file.exists() or file.suffix == ".cnf"):
        return GateSide(file=(file.stem, read_cnf(file)), server=path)
    return GateSide(stored=config, server=path)


def _run(request: GateRequest, console: Console) -> Study:
    is_here = request.host == settings.HOST_NAME
    study = create_gate(request, wake=not is_here)
    try:
        with Supervisor(with_worker=is_here) as processes:
            follow(study, console, processes.check)
    finally:
        if not study.is_finished:
            with suppress(TuningError):  # it may have ended this moment
                cancel_study(study)
    return study


def _knob(text: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in text.partition("="))
    if not name or not sign:
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.replace("-", "_").lower(), value


def _limit(text: str) -> Limit:
    try:
        return Limit.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
