"""The options of `manage.py advise`, and the request that they make."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from advisor.management.request_options import (
    absolute_path,
    add_request_options,
    given,
    output_file,
    script_output,
)
from benchmarks.emulation.profile import throttles
from tuning.catalogue.knob import Durability
from tuning.configs.parse import read_cnf
from tuning.errors import BadRequest, TuningError
from tuning.export.formats import FORMATS
from tuning.requests.configs import ConfigText
from tuning.requests.device import KIND_OF_EMULATED, DeviceRequest
from tuning.requests.fields import read_request
from tuning.requests.search import SearchRequest
from tuning.requests.study import GroupRequest, StudyRequest
from tuning.study_templates.loader import YOUR_SERVER

#: The requests whose fields are options.
REQUESTS = (SearchRequest, DeviceRequest, GroupRequest)

# Formats that need only the recommendation.
_FORMATS = [name for name in FORMATS if name != "diff"]


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the requests and those of the command itself."""
    study = parser.add_argument_group("study")
    study.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME",
        help="the host to measure on (default: this machine). Any server and directory of this "
        "machine may be named, but only listed ones of another host. May be repeated: each host "
        "gets a study with a ranking of its own",
    )
    study.add_argument(
        "--config",
        type=_config_file,
        action="append",
        default=[],
        metavar="FILE.cnf",
        help="a candidate of yours, in addition to the template's; may be repeated",
    )
    study.add_argument(
        "--server-profile",
        type=_profile,
        metavar="FILE|ID",
        help="what to change on a real server: the output there of `manage.py attach --script`, "
        "or the id of a stored profile; the first --config is then its my.cnf",
    )
    add_request_options(study, StudyRequest, leave_out=["host", "devices", "configs", "search"])
    device = parser.add_argument_group("device")
    device.add_argument(
        "--device",
        type=_device,
        action="append",
        default=[],
        metavar="[HOST:]DIR",
        help="a directory on the device to measure; may be repeated; with several hosts each "
        "needs it, unless its host is named",
    )
    add_request_options(
        device, DeviceRequest, leave_out=["id", "host", "path"], repeated=["emulate"]
    )
    search = parser.add_argument_group("search", "search for the best config of the device")
    search.add_argument(
        "--search",
        action="store_true",
        help="search for better configs for --budget minutes",
    )
    search.add_argument(
        "--show-space",
        action="store_true",
        help="print the search space and exit; nothing is stored or measured",
    )
    add_request_options(search, SearchRequest)
    _add_answer(parser.add_argument_group("answer"))


def _add_answer(group: Any) -> None:
    group.add_argument(
        "--acknowledge",
        type=_durability,
        default=Durability.D0,
        choices=list(Durability),
        help="accept the risk and write recommendations down to this class",
    )
    group.add_argument(
        "--output",
        type=output_file,
        metavar="my.cnf",
        help="where to write the recommended file",
    )
    group.add_argument(
        "--export",
        type=_export,
        action="append",
        default=[],
        metavar="FORMAT:FILE",
        help=f"also write the recommendation as FORMAT, one of {', '.join(_FORMATS)}",
    )
    group.add_argument(
        "--json",
        action="store_true",
        help="write one JSON document to stdout and progress to stderr",
    )


def _profile(text: str) -> int | str:
    """The id of a stored profile, or the text of an output."""
    return int(text) if text.isdecimal() and len(text) < 19 else script_output(text)


def read_options(options: dict[str, Any], hosts: list[str]) -> StudyRequest | GroupRequest:
    """The request for a study on these hosts. Raises BadRequest."""
    several = len(hosts) > 1
    if options["show_space"] and several:
        raise BadRequest("--show-space can be used with one --host only")
    search = given(SearchRequest, options)
    searches = bool(search) or options["search"] or options["show_space"]
    content = given(StudyRequest, options | {"host": None, "search": None}) | {
        "configs": options["config"],
        "devices": _devices(options),
    }
    if options["server_profile"] is not None:
        content = {"template": YOUR_SERVER} | content
    if searches:
        content = {"template": "search", "search": search} | content
    if several:
        return read_request(GroupRequest, content | {"hosts": hosts})
    return read_request(StudyRequest, content | {"host": hosts[0]})


def _devices(options: dict[str, Any]) -> list[dict[str, Any]]:
    """Every directory under every profile; without either, the host's default device."""
    common = given(DeviceRequest, options | {"emulate": None, "host": None})
    for name, option in (("log_dir", "--log-dir"), ("kind", "--device-kind")):
        if name in common and len(options["device"]) > 1:
            raise BadRequest(f"{option} can be used with one --device only")
    profiles = options["emulate"] or [""]
    if "kind" in common and all(map(throttles, profiles)):
        raise BadRequest(KIND_OF_EMULATED, field="kind")
    devices = [
        common
        | {"host": host, "path": path, "emulate": profile}
        | ({"kind": None} if throttles(profile) else {})
        for host, path in options["device"] or [("", None)]
        for profile in profiles
    ]
    return [] if devices == [{"host": "", "path": None, "emulate": ""}] else devices


def _device(text: str) -> tuple[str, Path]:
    """`db1:/srv/a`, or a directory alone, as ("", path)."""
    named = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*):(/.*)", text)
    return (named[1], Path(named[2])) if named else ("", absolute_path(text))


def _durability(text: str) -> Durability:
    try:
        return Durability(text.upper())
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not one of {', '.join(Durability)}") from None


def _export(text: str) -> tuple[str, Path]:
    name, colon, file = text.partition(":")
    if name not in _FORMATS or not colon or not file:
        raise ArgumentTypeError(f"{text!r} is not FORMAT:FILE with one of {', '.join(_FORMATS)}")
    return name, output_file(file)


def _config_file(text: str) -> ConfigText:
    path = Path(text)
    try:
        return ConfigText.of(path.stem, read_cnf(path))
    except TuningError as error:
        raise ArgumentTypeError(str(error)) from None
