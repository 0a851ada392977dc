"""`manage.py advise`: from the question to the recommended my.cnf, on one host or on several."""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentTypeError, BooleanOptionalAction
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from advisor.errors import AdvisorError, StudyFailed
from advisor.management.listing import absolute_path
from advisor.management.looking import look_here
from advisor.management.output import output_file
from advisor.management.refusals import ends_without_database
from advisor.processes.database import prepare_database
from advisor.processes.interrupts import end_like_ctrl_c
from advisor.processes.supervisor import Supervisor
from advisor.terminal.files import with_suffix, write_files
from advisor.terminal.follow import follow_all
from advisor.terminal.report import print_ranking
from advisor.terminal.space import print_space
from advisor.wording.searches import missed_before_text, warm_start_text
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.errors import BenchmarkError
from benchmarks.inventory.device_lookup import NATIVE, DeviceRequest, throttles
from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.costs import CostKind, read_kinds
from tuning.catalogue.knob import Durability
from tuning.configs.files.cnf import read_cnf
from tuning.errors import InvalidConfig, TuningError, UnknownTemplate
from tuning.export.formats import FORMATS
from tuning.models import Study, StudyState
from tuning.results.study_result import StudyResult
from tuning.scale_model.sizes import read_size
from tuning.search_space.space_request import BadSpace
from tuning.statistics.aim import Aim
from tuning.studies.earlier_studies import stored_missed_before, warm_start
from tuning.studies.groups import create_group
from tuning.studies.lifecycle import cancel_study, create_study
from tuning.studies.named_devices import MB
from tuning.studies.request import BadRequest, SearchRequest, StudyRequest, origin_of
from tuning.studies.search_texts import (
    OBJECTIVES,
    read_bounds,
    read_keep,
    read_knobs,
    read_names,
    read_objective,
    read_pinned,
)
from tuning.studies.searching import search_here
from tuning.study_templates.loader import USUAL_TEMPLATE

# Options whose name differs from that of the request's field.
_OPTIONS = {
    "budget_minutes": "budget",
    "configs": "config",
    "confirms": "no-confirm",
    "devices": "device",
    "hosts": "host",
    "keeps_duplicates": "keep-duplicates",
    "kind": "device-kind",
    "load_hosts": "load-host",
    "measure_s": "measure",
    "memory_mb": "memory-limit",
    "path": "device",
    "races": "no-race",
    "recovery": "no-recovery",
    "takes_apart": "take-apart",
    "pinned": "pin",
    "bounds": "bound",
    "warmup_s": "warmup",
}
# Formats that need only the recommendation.
_FORMATS = [name for name, form in FORMATS.items() if not form.needs_current]


class Command(BaseCommand):
    help = "Measure candidate my.cnf files on a device and write the recommended one."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--template",
            help=f"study template (default: {USUAL_TEMPLATE}; with --search: search)",
        )
        parser.add_argument(
            "--host",
            action="append",
            default=[],
            metavar="NAME",
            help="the host to measure on (default: this machine, where any server and directory "
            "may be named; of another host those that it has); may be repeated: a study with a "
            "ranking of its own on each, with the same server version, driver and load",
        )
        parser.add_argument(
            "--device",
            type=_device,
            action="append",
            default=[],
            metavar="[HOST:]DIR",
            help="a directory on the device to measure; may be repeated; with several hosts each "
            "needs it, unless its host is named",
        )
        parser.add_argument(
            "--log-dir",
            type=absolute_path,
            metavar="DIR",
            help="a directory on another device, for the redo logs",
        )
        parser.add_argument(
            "--device-kind",
            type=DeviceKind,
            choices=list(DeviceKind),
            metavar="KIND",
            help=f"kind of the device, if it cannot be detected: {', '.join(DeviceKind)}",
        )
        parser.add_argument(
            "--emulate",
            action="append",
            default=[],
            choices=[NATIVE, *shipped_profiles()],
            help="emulate this device; may be repeated; native measures without limits",
        )
        parser.add_argument(
            "--memory-limit",
            type=int,
            metavar="MB",
            help="memory limit of the server including its page cache (MB of 10^6 bytes)",
        )
        parser.add_argument(
            "--data-size",
            type=_size,
            metavar="SIZE",
            help="data of your real server, such as 200G: with --memory the study is a scale "
            "model of it (docs/scale.md); your files are then those of the real server",
        )
        parser.add_argument(
            "--memory",
            type=_size,
            metavar="SIZE",
            help="memory of your real server, such as 48G (GB of 10^9 bytes; GiB is accepted)",
        )
        parser.add_argument(
            "--as-measured",
            action="store_true",
            help="do not size the files of a scale model back to the real server",
        )
        parser.add_argument(
            "--server",
            type=absolute_path,
            metavar="PATH_TO_MYSQLD",
            help="server binary (default: the host's first)",
        )
        parser.add_argument(
            "--driver",
            default="auto",
            choices=["auto", "tpcc-mysql", "sysbench"],
            help="workload driver (default: tpcc-mysql if installed, else sysbench)",
        )
        parser.add_argument(
            "--load-host",
            action="append",
            default=[],
            metavar="NAME",
            help="the host that runs the driver, over the network (default: the measured host; "
            "docs/load-host.md); may be repeated: several share the connections",
        )
        parser.add_argument(
            "--config",
            type=_config_file,
            action="append",
            default=[],
            metavar="FILE.cnf",
            help="a candidate of yours, in addition to the template's; may be repeated",
        )
        parser.add_argument(
            "--translate-from",
            type=_origin,
            default="",
            metavar="SERVER",
            help='server that the files were written for: "mysql 5.7", or "older" if unknown',
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
            help="accept the risk and write recommendations down to this class",
        )
        parser.add_argument(
            "--allow",
            type=_costs,
            default=frozenset(),
            metavar="KIND[,KIND...]",
            help=f"costs other than durability that proposals may have: {', '.join(CostKind)}",
        )
        parser.add_argument("--warehouses", type=int, metavar="N", help="size of the dataset")
        parser.add_argument(
            "--connections",
            type=_numbers,
            metavar="N[,N...]",
            help="numbers of connections; each has its own ranking",
        )
        parser.add_argument("--warmup", type=int, metavar="S", help="warm-up, in seconds")
        parser.add_argument(
            "--measure", type=int, metavar="S", help="measured interval, in seconds"
        )
        parser.add_argument(
            "--blocks", type=int, metavar="N", help="times that each candidate runs"
        )
        parser.add_argument(
            "--budget",
            type=int,
            metavar="MINUTES",
            help="limit the blocks by time instead of by number",
        )
        parser.add_argument(
            "--no-race",
            action="store_true",
            help="measure every candidate in every block, even if it is measurably behind",
        )
        parser.add_argument(
            "--no-confirm",
            action="store_true",
            help="do not confirm the winner; its lead is then probably overstated",
        )
        parser.add_argument(
            "--recovery",
            action=BooleanOptionalAction,
            default=None,
            help="kill the baseline and the winner under load and time how long they take to "
            "serve again (default: only with --search)",
        )
        parser.add_argument(
            "--take-apart",
            action=BooleanOptionalAction,
            help="measure a confirmed winner without some of its lines, and leave out those that "
            "contribute nothing (default: for a search and the first answer)",
        )
        parser.add_argument(
            "--keep-lines",
            action="store_true",
            help="write the winner with all its lines, also those that contribute nothing "
            "measurable",
        )
        parser.add_argument(
            "--keep-duplicates",
            action="store_true",
            help="measure configs with the same effective values separately (A/A comparison)",
        )
        parser.add_argument(
            "--output",
            type=output_file,
            metavar="my.cnf",
            help="where to write the recommended file",
        )
        self._add_search(parser)
        parser.add_argument(
            "--export",
            type=_export,
            action="append",
            default=[],
            metavar="FORMAT:FILE",
            help=f"also write the recommendation as FORMAT, one of {', '.join(_FORMATS)}",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="write one JSON document to stdout and progress to stderr",
        )

    def _add_search(self, parser: CommandParser) -> None:
        group = parser.add_argument_group("search", "search for the best config of the device")
        group.add_argument(
            "--search",
            action="store_true",
            help="search for better configs for --budget minutes",
        )
        group.add_argument(
            "--show-space",
            action="store_true",
            help="print the search space and exit; nothing is stored or measured",
        )
        group.add_argument(
            "--knobs",
            metavar="N|NAME[,NAME...]",
            help="number of variables to search, or their names",
        )
        group.add_argument(
            "--free",
            default="",
            metavar="NAME[,NAME...]",
            help="search these variables in any case, beside those that are chosen",
        )
        for name, metavar, text in (
            (
                "--pin",
                "NAME=VALUE",
                "set this variable in every config of the search; may be repeated",
            ),
            (
                "--bound",
                "NAME=LOW..HIGH",
                "search this variable between two values; may be repeated",
            ),
            (
                "--keep",
                "LIMIT",
                "recommend only configs within this limit: 'p95<=50' (ms), "
                "'path-length<=3' (million cycles per New-Order), 'tpmP>=5000', 'recovery<=60' (s "
                "to serve again after a kill); may be repeated",
            ),
        ):
            group.add_argument(name, action="append", default=[], metavar=metavar, help=text)
        group.add_argument(
            "--objective",
            choices=list(OBJECTIVES),
            default="tpmP",
            help="metric to optimise (default: tpmP)",
        )
        group.add_argument(
            "--no-warm-start",
            dest="warm_start",
            action="store_false",
            help="do not begin with the best configs of earlier studies on this kind of device",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        end_like_ctrl_c()
        with ends_without_database(self):
            self._advise(options)

    def _advise(self, options: dict[str, Any]) -> None:
        console = Console(stderr=True)
        hosts = options["host"] or [settings.HOST_NAME]
        try:
            request = _request(options, hosts)
            # The space also depends on known devices.
            prepare_database(runs_a_worker=True)
            if settings.HOST_NAME in hosts:
                _look(request)
            if options["show_space"]:
                print_space(search_here(request), Console())
                return
            studies = _run(request, hosts, console)
        except (AdvisorError, BenchmarkError, TuningError) as error:
            code = 2 if isinstance(error, BadRequest | BadSpace | UnknownTemplate) else 1
            self._fail(f"{error.code}: {_one_line(error)}", code)
        except KeyboardInterrupt:
            what = "studies were" if len(hosts) > 1 else "study was"
            self._fail(f"interrupted: the {what} cancelled")
        else:
            self._show(studies, options)

    def _fail(self, line: str, code: int = 1) -> NoReturn:
        """Exit with the reason as the last message on stderr, as the README promises."""
        self.stderr.write(line)
        sys.exit(code)

    def _show(self, studies: list[Study], options: dict[str, Any]) -> None:
        """The ranking of each host apart, then its files; exits with 1 if one has none."""
        console, results = Console(stderr=options["json"]), [StudyResult(one) for one in studies]
        several, failures = len(studies) > 1, []
        if options["json"] and (several or studies[0].state == StudyState.FINISHED):
            # What makes the API's JSON takes a seventh of the time and memory of a command.
            from advisor.api.documents import study_document

            documents = [study_document(result) for result in results]
            json.dump({"studies": documents} if several else documents[0], sys.stdout, indent=2)
            sys.stdout.write("\n")
        for result in results:
            host = result.study.host.name
            try:
                if several:
                    console.rule(f"Host {host}, study {result.study.pk}", align="left")
                _check_finished(result.study)
                if not options["json"]:
                    print_ranking(result, console)
                self._write(result, console, options, suffix=f"-{host}" if several else "")
            except (AdvisorError, TuningError) as error:
                where = f"host {host}: " if several else ""
                failures.append(f"{error.code}: {where}{_one_line(error)}")
        if failures:
            self._fail("\n".join(failures))

    def _write(
        self, result: StudyResult, console: Console, options: dict[str, Any], *, suffix: str
    ) -> None:
        output = options["output"]
        write_files(
            result,
            console,
            acknowledged=options["acknowledge"],
            output=with_suffix(output, suffix) if output else None,
            exports=[(name, with_suffix(path, suffix)) for name, path in options["export"]],
            as_measured=options["as_measured"],
            keeps_lines=options["keep_lines"],
        )


def _request(options: dict[str, Any], hosts: list[str]) -> StudyRequest:
    """The request; of several hosts none is named in it. Raises BadRequest."""
    if options["show_space"] and len(hosts) > 1:
        raise BadRequest("--show-space can be used with one --host only")
    is_model = options["data_size"] is not None or options["memory"] is not None
    if options["as_measured"] and not is_model:
        raise BadRequest("--as-measured can be used with --data-size and --memory only")
    search = _search(options)
    return StudyRequest(
        template=options["template"] or ("search" if search else USUAL_TEMPLATE),
        search=search,
        host=hosts[0] if len(hosts) == 1 else "",
        devices=_devices(options),
        server=options["server"],
        driver=options["driver"],
        load_hosts=tuple(options["load_host"]),
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
        takes_apart=options["take_apart"],
        budget_minutes=options["budget"],
        allow=options["allow"],
        data_size=options["data_size"],
        memory=options["memory"],
        recovery=options["recovery"],
    )


def _search(options: dict[str, Any]) -> SearchRequest | None:
    """The search request; None without a search. Raises BadRequest."""
    if not (options["search"] or options["show_space"]):
        for name in ("knobs", "free", "pin", "bound", "keep"):
            if options[name]:
                raise BadRequest(f"--{name} can be used with --search only")
        if options["objective"] != "tpmP":
            raise BadRequest("--objective can be used with --search only")
        if not options["warm_start"]:
            raise BadRequest("--no-warm-start can be used with --search only")
        return None
    return SearchRequest(
        knobs=read_knobs(options["knobs"] or ""),
        free=read_names(options["free"]),
        pinned=read_pinned(options["pin"]),
        bounds=read_bounds(options["bound"]),
        aim=Aim(read_objective(options["objective"]), *read_keep(options["keep"])),
        warm_start=options["warm_start"],
    )


def _run(request: StudyRequest, hosts: list[str], console: Console) -> list[Study]:
    """The studies, in the order of the hosts, each at its end."""
    is_here = settings.HOST_NAME in hosts
    if len(hosts) == 1:
        # This host's worker is started below and looks at the rows; another's has to be woken.
        studies = [create_study(request, wake=not is_here)]
    else:
        there = create_group(request, hosts).studies.select_related("host")
        studies = sorted(there, key=lambda study: hosts.index(study.host.name))
    for study in studies:
        search = study.search or {}
        where = f"{study.host}: " if len(hosts) > 1 else ""
        for text in (
            warm_start_text(warm_start(search)),
            missed_before_text(stored_missed_before(search)),
        ):
            if text:
                console.print(f"{where}{text}", markup=False, soft_wrap=True)
    try:
        with Supervisor(with_worker=is_here) as processes:
            follow_all(studies, console, processes.check)
    finally:
        for study in studies:
            if not study.is_finished:
                # Interrupted or failed: nothing of it may start again later by itself.
                with suppress(TuningError):  # it may have ended this moment
                    cancel_study(study)
    return studies


def _check_finished(study: Study) -> None:
    """Raise StudyFailed with the reason why it has no answer."""
    if study.state != StudyState.FINISHED:
        tail = f"\n{study.log_tail}" if study.log_tail else ""
        raise StudyFailed(study.reason_code or study.state, f"{study.reason}{tail}")


def _look(request: StudyRequest) -> None:
    """Inspect this host for a study on it, with all that the request names here."""
    here = [one for one in request.devices if one.host in ("", settings.HOST_NAME)]
    directories = [directory for one in here for directory in (one.path, one.log_dir) if directory]
    look_here([request.server] if request.server else [], directories)


def _devices(options: dict[str, Any]) -> list[DeviceRequest]:
    """Every directory under every profile; without either, the host's default device."""
    memory_mb = options["memory_limit"]
    for name in ("log_dir", "device_kind"):
        if options[name] is not None and len(options["device"]) > 1:
            raise BadRequest(f"--{name.replace('_', '-')} can be used with one --device only")
    asked = options["emulate"] or [""]
    if options["device_kind"] is not None and all(map(throttles, asked)):
        raise BadRequest("--device-kind: an emulated device has the kind that it emulates")
    return [
        DeviceRequest(
            path=path,
            log_dir=options["log_dir"],
            emulate=emulate,
            memory_bytes=None if memory_mb is None else memory_mb * MB,
            kind=None if throttles(emulate) else options["device_kind"],
            host=host,
        )
        for host, path in options["device"] or [("", None)]
        for emulate in asked
    ]


def _one_line(error: Exception) -> str:
    """The error's text with its option; for a refused config, every problem."""
    if isinstance(error, InvalidConfig):
        return "; ".join(map(str, error.problems))
    if not isinstance(error, BenchmarkError | TuningError) or not error.field:
        return str(error)
    # Below "search.pinned" and "search.bounds" stands the knob.
    is_search = error.field.startswith("search.")
    named = error.field.removeprefix("search.").split(".")[0] if is_search else error.field
    *_, name = re.findall(r"[a-z_]+", named)
    return f"{error} (--{_OPTIONS.get(name, name).replace('_', '-')})"


def _device(text: str) -> tuple[str, Path]:
    """`db1:/srv/a`, or a directory alone, as ("", path)."""
    named = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*):(/.*)", text)
    return (named[1], Path(named[2])) if named else ("", absolute_path(text))


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is not a number or a comma-separated list of numbers"
        ) from None


def _durability(text: str) -> Durability:
    try:
        return Durability(text.upper())
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not one of {', '.join(Durability)}") from None


def _size(text: str) -> int:
    try:
        return read_size(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} {error}") from None


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
    return name, output_file(file)


def _config_file(text: str) -> tuple[str, bytes]:
    path = Path(text)
    try:
        return path.stem, read_cnf(path)
    except InvalidConfig as error:
        raise ArgumentTypeError(str(error)) from None
