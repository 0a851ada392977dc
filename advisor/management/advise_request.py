"""What `manage.py advise` is asked for, as a request, and its errors with the option to mend."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.errors import ExpectedError
from benchmarks.inventory.device_lookup import DeviceRequest, throttles
from tuning.errors import InvalidConfig
from tuning.statistics.aim import Aim
from tuning.studies.named_devices import MB
from tuning.studies.request import BadRequest, SearchRequest, StudyRequest
from tuning.studies.search_texts import (
    read_bounds,
    read_keep,
    read_knobs,
    read_names,
    read_objective,
    read_pinned,
)
from tuning.study_templates.loader import USUAL_TEMPLATE

# Options whose name differs from that of the request's field.
OPTIONS = {
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


def read_request(options: dict[str, Any], hosts: list[str]) -> StudyRequest:
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


def error_line(error: Exception) -> str:
    """The error's text with its option; for a refused config, every problem."""
    if isinstance(error, InvalidConfig):
        return "; ".join(map(str, error.problems))
    if not isinstance(error, ExpectedError) or not error.field:
        return str(error)
    # Below "search.pinned" and "search.bounds" stands the knob.
    is_search = error.field.startswith("search.")
    named = error.field.removeprefix("search.").split(".")[0] if is_search else error.field
    *_, name = re.findall(r"[a-z_]+", named)
    return f"{error} (--{OPTIONS.get(name, name).replace('_', '-')})"
