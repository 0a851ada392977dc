"""The command that asks a study's question again on its host."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.inventory.device_lookup import NATIVE
from benchmarks.models import BinaryLog, Workload
from tuning.models import Study
from tuning.results.study_result import StudyResult
from tuning.scale_model.model import ScaleModel
from tuning.statistics.gate import GatePlan
from tuning.studies.again import search_again
from tuning.studies.named_configs import DEFAULTS
from tuning.studies.request import SearchRequest
from tuning.studies.search_texts import OBJECTIVES, keep_text

_CANDIDATE = "config", "server"


def command_of(result: StudyResult) -> list[str]:
    """Its parts, each an option with its value. Configs of a user's own are not among them."""
    study, devices = result.study, list(result.devices.values())
    if study.gate is not None:
        return _parts("gate", _gate(result, GatePlan.from_json(study.gate)))
    workloads = list(result.workloads.values())
    options: list[tuple[str, ...]] = [
        ("--template", study.template),
        ("--host", study.host.name),
        ("--server", study.server.path),
    ]
    options += [("--device", path) for path in dict.fromkeys(one.data_dir for one in devices)]
    if len(devices) == 1 and devices[0].log_dir:
        options.append(("--log-dir", devices[0].log_dir))
    profiles = [one.profile.name if one.profile else NATIVE for one in devices]
    if set(profiles) & set(shipped_profiles()):
        options += [("--emulate", name) for name in dict.fromkeys(profiles)]
    options += _memory(result)
    options += _load(study, workloads)
    search = search_again(study)
    options += _blocks(study) if search is None else _searched(search)
    options += [("--durability", study.durability)] if study.durability != "D0" else []
    if study.allowed_costs:
        options.append(("--allow", ",".join(study.allowed_costs)))
    template = result.template
    takes_apart = search is not None or (template is not None and template.takes_apart)
    options += _unless_usual("take-apart", study.takes_apart, usual=takes_apart)
    options += _unless_usual("recovery", study.crash_tests, usual=search is not None)
    return _parts("advise", options)


def _parts(command: str, options: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"manage.py {command}", *(shlex.join(one) for one in options)]


def _load(study: Study, workloads: Sequence[Workload]) -> list[tuple[str, ...]]:
    first = workloads[0]
    options: list[tuple[str, ...]] = [
        ("--warehouses", str(first.warehouses)),
        ("--connections", ",".join(str(one.connections) for one in workloads)),
        ("--warmup", str(first.warmup_s)),
        ("--measure", str(first.measure_s)),
        ("--driver", first.driver),
    ]
    options += [("--load-host", host.name) for host in first.load_hosts_in_order]
    if study.budget_minutes:
        options.append(("--budget", str(study.budget_minutes)))
    return options


def _gate(result: StudyResult, plan: GatePlan) -> list[tuple[str, ...]]:
    """Its configs by the hashes under which they are stored."""
    study = result.study
    options: list[tuple[str, ...]] = [("--name", study.name)]
    for one in result.candidates.values():
        config, server = ("baseline", "baseline-server") if one.is_baseline else _CANDIDATE
        stored = one.config.hash[:12] if one.config.knobs else DEFAULTS
        options += [(f"--{config}", stored), (f"--{server}", one.measured_on.path)]
    options += [("--limit", limit.typed) for limit in plan.limits]
    options += [("--confidence", f"{plan.confidence * 100:g}"), ("--pairs", str(plan.max_pairs))]
    options += [("--host", study.host.name)]
    options += [("--device", one.data_dir) for one in result.devices.values()]
    options += _load(study, list(result.workloads.values()))
    options += [("--durability", study.durability)] if study.durability != "D0" else []
    is_usual = study.binary_log == BinaryLog.DEFAULT
    return options if is_usual else [*options, ("--binlog", study.binary_log)]


def _memory(result: StudyResult) -> list[tuple[str, ...]]:
    """That of the real server for a scale model, else what all devices leave to a server."""
    model = ScaleModel.from_json(result.study.scale_model)
    if model is not None:
        sizes = {"--data-size": model.data_bytes, "--memory": model.memory_bytes}
        return [(name, f"{size / 1000:.15g}K") for name, size in sizes.items()]
    limits = {one.memory_limit_bytes for one in result.devices.values()}
    limit = limits.pop() if len(limits) == 1 else None
    return [] if limit is None else [("--memory-limit", str(limit // 10**6))]


def _blocks(study: Study) -> list[tuple[str, ...]]:
    options: list[tuple[str, ...]] = [("--blocks", str(study.first_blocks))]
    options += [] if study.races else [("--no-race",)]
    options += [] if study.confirms else [("--no-confirm",)]
    options += [("--keep-duplicates",)] if study.keeps_duplicates else []
    return options


def _searched(search: SearchRequest) -> list[tuple[str, ...]]:
    """A search ends by its budget; it races and confirms in any case."""
    options: list[tuple[str, ...]] = [("--search",)]
    if search.knobs:
        knobs = (search.knobs,) if isinstance(search.knobs, int) else search.knobs
        options.append(("--knobs", ",".join(map(str, knobs))))
    options += [("--free", ",".join(search.free))] if search.free else []
    options += [("--pin", f"{name}={value}") for name, value in search.pinned.items()]
    options += [
        ("--bound", f"{name}={low}..{high}") for name, (low, high) in search.bounds.items()
    ]
    for name, metric in OBJECTIVES.items():
        if metric is search.aim.objective and name != "tpmP":
            options.append(("--objective", name))
    options += [("--keep", text) for text in keep_text(search.aim).split(", ") if text]
    options += [] if search.warm_start else [("--no-warm-start",)]
    return options


def _unless_usual(name: str, value: bool, *, usual: bool) -> list[tuple[str, ...]]:
    return [] if value == usual else [(f"--{name}" if value else f"--no-{name}",)]
