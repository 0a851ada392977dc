"""The request that repeats a study: for the API, with everything that was chosen."""

from __future__ import annotations

from typing import Any

from benchmarks.models import Workload
from tuning.models import Study
from tuning.scale_model.model import ScaleModel
from tuning.statistics.aim import Aim, limit_scale
from tuning.statistics.gate import GatePlan
from tuning.studies.again import my_cnf_of, own_files
from tuning.studies.named_configs import DEFAULTS
from tuning.studies.search_texts import OBJECTIVES

SCRIPT = """\
#!/bin/sh
# Repeats this study: the same question with the same seed, on a host that has this server and
# these directories. ADVISOR_TOKEN: a token of the scope run; ADVISOR_API: where the advisor is.
set -eu
cd "$(dirname "$0")"
curl -fsS -H "Authorization: Bearer $ADVISOR_TOKEN" -H 'Content-Type: application/json' \\
  "${ADVISOR_API:-http://127.0.0.1:8000/api/v1}/studies/" -d @request.json
"""


def repeat_request(study: Study) -> dict[str, Any]:
    """The body of `POST /api/v1/studies/` that asks the same again.

    Configs of the user's own are as they were measured: translated, in knobs.
    """
    if study.gate is not None:
        return _gate_request(study, GatePlan.from_json(study.gate))
    workloads = sorted(study.workloads.all(), key=lambda one: one.connections)
    first, model = workloads[0], ScaleModel.from_json(study.scale_model)
    request: dict[str, Any] = {
        "template": study.template,
        "name": study.name,
        "devices": [_device(one, model) for one in study.devices.order_by("pk")],
        "server": study.server.path,
        "driver": first.driver,
        "warehouses": first.warehouses,
        "connections": [one.connections for one in workloads],
        "warmup_s": first.warmup_s,
        "measure_s": first.measure_s,
        "seed": study.seed,
        "durability": study.durability,
        "allow": list(study.allowed_costs),
        "takes_apart": study.takes_apart,
        "recovery": study.crash_tests,
        "configs": [
            {"name": one.name, "text": my_cnf_of(one).decode()} for one in own_files(study)
        ],
    }
    request |= _load_hosts(first)
    if model is not None:
        sizes = {"data_size": model.data_bytes, "memory": model.memory_bytes}
        request |= {name: f"{size / 1000:.15g}K" for name, size in sizes.items()}
    if study.search:
        request["search"] = _search(study.search)
        request["budget_minutes"] = study.budget_minutes
        return request
    request |= {
        "blocks": study.first_blocks,
        "races": study.races,
        "confirms": study.confirms,
        "keeps_duplicates": study.keeps_duplicates,
    }
    if study.budget_minutes:
        request["budget_minutes"] = study.budget_minutes
    return request


def repeat_script(study: Study) -> str:
    """Sends the request to where it belongs."""
    return SCRIPT.replace("}/studies/", "}/gates/") if study.gate is not None else SCRIPT


def _gate_request(study: Study, plan: GatePlan) -> dict[str, Any]:
    """The body of `POST /api/v1/gates/`."""
    workload = study.workloads.get()
    rows = study.candidates.select_related("config", "server", "study__server")
    sides = {
        "baseline" if one.is_baseline else "candidate": {
            **(
                {"config": {"name": one.name, "text": my_cnf_of(one).decode()}}
                if one.config.knobs
                else {"stored": DEFAULTS}
            ),
            "server": one.measured_on.path,
        }
        for one in rows
    }
    request: dict[str, Any] = {
        "name": study.name,
        **sides,
        "limits": {one.metric.value: round(one.loss * 100, 6) for one in plan.limits},
        "confidence": plan.confidence * 100,
        "max_pairs": plan.max_pairs,
        "budget_minutes": study.budget_minutes,
        "device": _device(study.devices.get()),
        "driver": workload.driver,
        "warehouses": workload.warehouses,
        "connections": workload.connections,
        "warmup_s": workload.warmup_s,
        "measure_s": workload.measure_s,
        "seed": study.seed,
        "durability": study.durability,
        "binary_log": study.binary_log,
    }
    return request | _load_hosts(workload)


def _load_hosts(workload: Workload) -> dict[str, Any]:
    names = [host.name for host in workload.load_hosts_in_order]
    return {"load_host": names[0] if len(names) == 1 else names} if names else {}


def _device(device: Any, model: ScaleModel | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"path": device.data_dir}
    if device.log_dir:
        found["log_dir"] = device.log_dir
    if (profile := device.profile) is not None:
        if profile.throttles:
            found["emulate"] = profile.name
        if profile.memory_bytes is not None and model is None:
            found["memory_mb"] = profile.memory_bytes // 10**6
    return found


def _search(document: dict[str, Any]) -> dict[str, Any]:
    words = {metric: word for word, metric in OBJECTIVES.items()}
    aim, asked = Aim.from_json(document), document.get("asked", {})
    keep: dict[str, float] = {
        words[metric].replace("-", "_"): bound / limit_scale(metric)
        for metric, bound in aim.keep.items()
    }
    if aim.max_recovery_s is not None:
        keep["recovery"] = aim.max_recovery_s
    found: dict[str, Any] = {"objective": words[aim.objective], "keep": keep}
    knobs = asked.get("knobs")
    if isinstance(knobs, int):
        found["knobs"] = knobs
    elif knobs:
        found["names"] = list(knobs)
    for name in ("free", "pinned", "bounds", "warm_start"):
        if name in asked:
            found[name] = asked[name]
    return found
