"""What may be asked of `manage.py advise`: its options and their values."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from pathlib import Path

from advisor.management.listing import absolute_path
from advisor.management.output import output_file
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.inventory.device_lookup import NATIVE
from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.costs import CostKind, read_kinds
from tuning.catalogue.knob import Durability
from tuning.configs.files.cnf import read_cnf
from tuning.errors import InvalidConfig
from tuning.export.formats import FORMATS
from tuning.scale_model.sizes import read_size
from tuning.studies.request import BadRequest, origin_of
from tuning.studies.search_texts import (
    OBJECTIVES,
)
from tuning.study_templates.loader import USUAL_TEMPLATE

# Formats that need only the recommendation.
_FORMATS = [name for name, form in FORMATS.items() if not form.needs_current]


def add_options(parser: ArgumentParser) -> None:
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
    parser.add_argument("--measure", type=int, metavar="S", help="measured interval, in seconds")
    parser.add_argument("--blocks", type=int, metavar="N", help="times that each candidate runs")
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
        help="write the winner with all its lines, also those that contribute nothing measurable",
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
    _add_search(parser)
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


def _add_search(parser: ArgumentParser) -> None:
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
