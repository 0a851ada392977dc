"""`manage.py advise`: one study from the question to the my.cnf, without the browser."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from advisor.api.documents import study_document
from advisor.errors import AdvisorError, StudyFailed
from advisor.processes.interrupts import end_like_ctrl_c
from advisor.processes.supervisor import Supervisor
from advisor.terminal.files import write_files
from advisor.terminal.follow import follow
from advisor.terminal.report import print_ranking
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.errors import BenchmarkError
from benchmarks.inventory.devices import NATIVE, DeviceRequest, throttles
from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.costs import CostKind, read_kinds
from tuning.catalogue.knob import Durability
from tuning.configs.files.cnf import read_cnf
from tuning.errors import InvalidConfig, TuningError, UnknownTemplate
from tuning.export.formats import FORMATS
from tuning.models import Study, StudyState
from tuning.results.study_result import StudyResult
from tuning.studies.devices import MB
from tuning.studies.lifecycle import cancel_study, create_study
from tuning.studies.request import BadRequest, StudyRequest, origin_of

# What a field of the request is called here, where it is not called the same.
_OPTIONS = {
    "budget_minutes": "budget",
    "configs": "config",
    "devices": "device",
    "kind": "device-kind",
    "measure_s": "measure",
    "memory_mb": "memory-limit",
    "path": "device",
    "warmup_s": "warmup",
}
# Those that need no more than the recommendation.
_FORMATS = [name for name, form in FORMATS.items() if not form.needs_current]


class Command(BaseCommand):
    help = "Measure candidate my.cnf files on a device and write the recommended one."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--template", default="quick", help="study template (default: quick)")
        parser.add_argument(
            "--device",
            type=Path,
            action="append",
            default=[],
            metavar="DIR",
            help="a directory on the device to measure; may be repeated",
        )
        parser.add_argument(
            "--log-dir", type=Path, metavar="DIR", help="one on another device, for redo logs"
        )
        parser.add_argument(
            "--device-kind",
            type=DeviceKind,
            choices=list(DeviceKind),
            metavar="KIND",
            help=f"what the device is, where it cannot be seen: {', '.join(DeviceKind)}",
        )
        parser.add_argument(
            "--emulate",
            action="append",
            default=[],
            choices=[NATIVE, *shipped_profiles()],
            help="measure the device under these limits; may be repeated, native is without",
        )
        parser.add_argument(
            "--memory-limit",
            type=int,
            metavar="MB",
            help="what a server may use, its page cache included (MB of 10^6 bytes)",
        )
        parser.add_argument("--server", type=Path, metavar="PATH_TO_MYSQLD")
        parser.add_argument("--driver", default="auto", choices=["auto", "tpcc-mysql", "sysbench"])
        parser.add_argument(
            "--config",
            type=_config_file,
            action="append",
            default=[],
            metavar="FILE.cnf",
            help="a candidate of yours beside the template's; may be repeated",
        )
        parser.add_argument(
            "--translate-from",
            type=_origin,
            default="",
            metavar="SERVER",
            help='what the files were written for: "mysql 5.7", or "older" if nobody knows',
        )
        parser.add_argument(
            "--durability",
            type=_durability,
            default=Durability.D0,
            choices=list(Durability),
            help="the least safe class to measure (default: D0, which loses nothing)",
        )
        parser.add_argument(
            "--acknowledge",
            type=_durability,
            default=Durability.D0,
            choices=list(Durability),
            help="write a recommendation down to this class, knowing what it may lose",
        )
        parser.add_argument(
            "--allow",
            type=_costs,
            default=frozenset(),
            metavar="KIND[,KIND...]",
            help=f"what proposals may cost beside durability: {', '.join(CostKind)}",
        )
        parser.add_argument("--warehouses", type=int)
        parser.add_argument("--connections", type=_numbers, metavar="N[,N...]")
        parser.add_argument("--warmup", type=int, metavar="S", help="warm-up, in seconds")
        parser.add_argument("--measure", type=int, metavar="S", help="measured time, in seconds")
        parser.add_argument("--blocks", type=int, metavar="N")
        parser.add_argument(
            "--budget",
            type=int,
            metavar="MINUTES",
            help="end the blocks by time in place of their number",
        )
        parser.add_argument(
            "--no-race",
            action="store_true",
            help="measure every candidate in every block, also who is measurably behind",
        )
        parser.add_argument(
            "--no-confirm",
            action="store_true",
            help="do not measure the winner afresh; its lead is then likely too high",
        )
        parser.add_argument(
            "--keep-duplicates",
            action="store_true",
            help="measure configs with the same effective values apart (A/A comparison)",
        )
        parser.add_argument("--output", type=_output_file, metavar="my.cnf")
        parser.add_argument(
            "--export",
            type=_export,
            action="append",
            default=[],
            metavar="FORMAT:FILE",
            help=f"another file of the recommendation; FORMAT is one of {', '.join(_FORMATS)}",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on stdout, progress on stderr"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        end_like_ctrl_c()
        console = Console(stderr=True)
        try:
            call_command("migrate", verbosity=0)
            study = _run(options, console)
        except (AdvisorError, BenchmarkError, TuningError) as error:
            code = 2 if isinstance(error, BadRequest | UnknownTemplate) else 1
            self._fail(f"{error.code}: {_one_line(error)}", code)
        except KeyboardInterrupt:
            self._fail("interrupted: the study was cancelled")
        else:
            self._show(study, options)

    def _fail(self, line: str, code: int = 1) -> NoReturn:
        """End with the reason as the whole of stderr's last message, as the README promises."""
        self.stderr.write(line)
        sys.exit(code)

    def _show(self, study: Study, options: dict[str, Any]) -> None:
        console, result = Console(stderr=options["json"]), StudyResult(study)
        if options["json"]:
            json.dump(study_document(result), sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            print_ranking(result, console)
        try:
            write_files(
                result,
                console,
                acknowledged=options["acknowledge"],
                output=options["output"],
                exports=options["export"],
            )
        except (AdvisorError, TuningError) as error:
            self._fail(f"{error.code}: {_one_line(error)}")


def _run(options: dict[str, Any], console: Console) -> Study:
    request = StudyRequest(
        template=options["template"],
        devices=_devices(options),
        server=options["server"],
        driver=options["driver"],
        configs=options["config"],
        warehouses=options["warehouses"],
        connections=options["connections"],
        warmup_s=options["warmup"],
        measure_s=options["measure"],
        blocks=options["blocks"],
        durability=options["durability"],
        translate_from=options["translate_from"],
        keeps_duplicates=options["keep_duplicates"],
        races=False if options["no_race"] else None,
        confirms=False if options["no_confirm"] else None,
        budget_minutes=options["budget"],
        allow=options["allow"],
    )
    study = create_study(request, wake=False)
    try:
        with Supervisor() as processes:
            follow(study, console, processes.check)
    finally:
        if not study.is_finished:
            # Interrupted or failed on the way: nothing of it may start again later by itself.
            with suppress(TuningError):  # it may have ended this moment
                cancel_study(study)
    if study.state != StudyState.FINISHED:
        tail = f"\n{study.log_tail}" if study.log_tail else ""
        raise StudyFailed(study.reason_code or study.state, f"{study.reason}{tail}")
    return study


def _devices(options: dict[str, Any]) -> list[DeviceRequest]:
    """Every directory under every profile; none of both is the host's usual device."""
    memory_mb = options["memory_limit"]
    for name in ("log_dir", "device_kind"):
        if options[name] is not None and len(options["device"]) > 1:
            raise BadRequest(f"--{name.replace('_', '-')} goes with one --device only")
    asked = options["emulate"] or [""]
    if options["device_kind"] is not None and all(map(throttles, asked)):
        raise BadRequest("--device-kind: an emulated device is of the kind that it stands for")
    return [
        DeviceRequest(
            path=path,
            log_dir=options["log_dir"],
            emulate=emulate,
            memory_bytes=None if memory_mb is None else memory_mb * MB,
            kind=None if throttles(emulate) else options["device_kind"],
        )
        for path in options["device"] or [None]
        for emulate in asked
    ]


def _one_line(error: Exception) -> str:
    """The error's text, with the option it is about; of a refused config every problem."""
    if isinstance(error, InvalidConfig):
        return "; ".join(map(str, error.problems))
    if not isinstance(error, BenchmarkError | TuningError) or not error.field:
        return str(error)
    *_, name = re.findall(r"[a-z_]+", error.field)
    return f"{error} (--{_OPTIONS.get(name, name).replace('_', '-')})"


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number or a comma-separated list") from None


def _durability(text: str) -> Durability:
    try:
        return Durability(text.upper())
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(Durability)}") from None


def _costs(text: str) -> frozenset[CostKind]:
    try:
        return read_kinds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _origin(text: str) -> str:
    try:
        origin_of(text)
    except BadRequest as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def _export(text: str) -> tuple[str, Path]:
    name, colon, file = text.partition(":")
    if name not in _FORMATS or not colon or not file:
        raise ArgumentTypeError(f"{text!r} is not FORMAT:FILE with one of {', '.join(_FORMATS)}")
    return name, _output_file(file)


def _config_file(text: str) -> tuple[str, bytes]:
    path = Path(text)
    try:
        return path.stem, read_cnf(path)
    except InvalidConfig as error:
        raise ArgumentTypeError(str(error)) from None


def _output_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ArgumentTypeError(f"{text} is not a file in an existing directory")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArgumentTypeError(f"{text}: its directory is not writable")
    return path
