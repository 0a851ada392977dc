"""The command that asks a study's question again on its host."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import Any

from benchmarks.emulation.shipped import shipped_profiles
from tuning.requests.describe import Kind, shape_of
from tuning.requests.fields import Request
from tuning.requests.gate import GateRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results.document import DeviceFacts


def command_of(
    stored: dict[str, Any], devices: Sequence[DeviceFacts], *, is_gate: bool
) -> list[str]:
    """Return its parts, each an option with its value; a user's own configs are left out.

    stored: the request of the study.
    """
    if is_gate:
        return _parts("gate", _gate(GateRequest.model_validate(stored), devices))
    request = StudyRequest.model_validate(stored)
    options = _typed(request, leave_out=["devices", "configs", "search"])
    if request.search is not None:
        options = [("--search",), *options, *_typed(request.search)]
    return _parts("advise", options + _devices(devices, is_model=request.memory is not None))


def _gate(request: GateRequest, devices: Sequence[DeviceFacts]) -> list[tuple[str, ...]]:
    """Its configs by the hashes under which they are stored."""
    options: list[tuple[str, ...]] = [("--name", request.name)]
    for prefix, config, side in (
        ("baseline-", "baseline", request.baseline),
        ("", "config", request.candidate),
    ):
        options += [(f"--{config}", side.stored), (f"--{prefix}server", str(side.server))]
    options += [("--limit", limit.typed) for limit in request.plan.limits]
    options += _typed(request, leave_out=["name", "baseline", "candidate", "limits", "device"])
    return options + [("--device", one.data_dir) for one in devices]


def _devices(devices: Sequence[DeviceFacts], *, is_model: bool) -> list[tuple[str, ...]]:
    """Their directories and limits. A scale model finds the memory limit by itself."""
    options: list[tuple[str, ...]] = [
        ("--device", path) for path in dict.fromkeys(one.data_dir for one in devices)
    ]
    if len(devices) == 1 and devices[0].log_dir:
        options.append(("--log-dir", devices[0].log_dir))
    profiles = [one.emulation_name for one in devices]
    if set(profiles) & set(shipped_profiles()):
        options += [("--emulate", name) for name in dict.fromkeys(profiles)]
    limits = {one.memory_limit_bytes for one in devices}
    limit = limits.pop() if len(limits) == 1 else None
    if limit is not None and not is_model:
        options.append(("--memory-limit", str(limit // 10**6)))
    return options


def _typed(request: Request, leave_out: Collection[str] = ()) -> list[tuple[str, ...]]:
    """An option for each field that is not the default."""
    fields, values = type(request).model_fields, request.as_json()
    if isinstance(request, SearchRequest):
        values |= request.typed
    options: list[tuple[str, ...]] = []
    for name, value in values.items():
        shape = shape_of(name, fields[name])
        if not shape.option or name in leave_out:
            continue
        if shape.kind is Kind.FLAG:
            options.append((f"--{'' if value else 'no-'}{shape.option}",))
        elif isinstance(value, list) and "," not in shape.metavar:
            options += [(f"--{shape.option}", one) for one in value]
        else:
            options.append((f"--{shape.option}", _text(value)))
    return options


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parts(command: str, options: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"manage.py {command}", *(shlex.join(one) for one in options)]
