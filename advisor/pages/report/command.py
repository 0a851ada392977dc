"""The command that asks a study's question again on its host."""

from __future__ import annotations

import shlex

from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.inventory.devices import NATIVE
from tuning.results.study_result import StudyResult
from tuning.studies.search_texts import OBJECTIVES, keep_text


def command_of(result: StudyResult) -> list[str]:
    """Its parts, each an option with its value. Configs of a user's own are not among them."""
    study, devices = result.study, list(result.devices.values())
    workloads = list(result.workloads.values())
    first = workloads[0]
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
    options += [
        ("--warehouses", str(first.warehouses)),
        ("--connections", ",".join(str(one.connections) for one in workloads)),
        ("--warmup", str(first.warmup_s)),
        ("--measure", str(first.measure_s)),
        ("--driver", first.driver),
    ]
    if study.search is None:
        options.append(("--blocks", str(study.blocks)))
        options += [] if study.races else [("--no-race",)]
        options += [] if study.confirms else [("--no-confirm",)]
    else:
        options += _searched(result)
    options += [("--durability", study.durability)] if study.durability != "D0" else []
    return ["manage.py advise", *(shlex.join(one) for one in options)]


def _searched(result: StudyResult) -> list[tuple[str, ...]]:
    """A search ends by its budget; it races and confirms in any case."""
    study, aim = result.study, result.aim
    options: list[tuple[str, ...]] = [("--search",)]
    if study.budget_minutes:
        options.append(("--budget", str(study.budget_minutes)))
    for name, metric in OBJECTIVES.items():
        if metric is aim.objective and name != "tpmP":
            options.append(("--objective", name))
    options += [("--keep", text) for text in keep_text(aim).split(", ") if text]
    return options
