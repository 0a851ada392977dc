"""A path that is typed into a form, and what its host says about it, beside the field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor.wording.formatting import byte_size
from benchmarks.errors import BenchmarkError, ExpectedError
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host, Inspection, JobState
from benchmarks.servers.binary import Flavour
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits
from tuning.hosts.commands import inspect_device, inspect_server, waiting_text
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import read_request

# Fields whose text is a path on a host.
SERVER, DIRECTORIES = "server", ("path", "log_dir")
FIELDS = (SERVER, *DIRECTORIES)


@dataclass(frozen=True)
class PathAnswer:
    """The answer of one host. `asked` is the inspection that is still awaited, else None."""

    host: Host
    text: str
    is_refused: bool = False
    asked: Inspection | None = None


def answers_about(
    field: str, text: str, hosts: Iterable[Host], *, lists: bool, user: Any
) -> list[PathAnswer]:
    """Return, for each host, its knowledge of the path, else a new inspection.

    With `lists`, for an administrator, a host may be asked about any path, and what it finds can
    be used from then on.
    """
    path = text.strip()
    return [_about(field, path, host, lists, user) for host in hosts] if path else []


def answer_of(row: Inspection) -> PathAnswer:
    """Return the findings of an inspection so far."""
    if not row.is_finished:
        return PathAnswer(row.host, waiting_text(row), asked=row)
    if row.state == JobState.OK:
        return PathAnswer(row.host, _found(row))
    reason = row.reason or f"the inspection was {row.get_state_display().lower()}: try again"
    return PathAnswer(row.host, reason, is_refused=True)


def _about(field: str, text: str, host: Host, lists: bool, user: Any) -> PathAnswer:
    path = Path(text)
    try:
        known = _known(field, path, host)
    except BenchmarkError:
        known = ""
    if known:
        return PathAnswer(host, known)
    try:
        if field == SERVER:
            row = inspect_server(host, text, lists=lists, user=user)
        else:
            device = read_request(DeviceRequest, {"path": path})
            row = inspect_device(host, device, lists=lists, user=user)
    except ExpectedError as error:
        return PathAnswer(host, str(error), is_refused=True)
    return answer_of(row)


def _known(field: str, path: Path, host: Host) -> str:
    """Return the path's entry in the inventory; raises where there is none or it is refused."""
    inventory = inventory_of(host)
    if field == SERVER:
        return str(ServerTraits.of(inventory.server(path)))
    return _directory(inventory.directory(path).identity)


def _found(row: Inspection) -> str:
    answer = row.answer or {}
    if row.subject == Inspection.Subject.SERVER:
        return f"{FLAVOUR_NAMES[Flavour(answer['flavour'])]} {answer['version']}"
    return _directory(DeviceIdentity.from_json(answer["data"]))


def _directory(found: DeviceIdentity) -> str:
    parts = [kind_words(found.kind), found.model, found.file_system]
    return f"{', '.join(filter(None, parts))}, {byte_size(found.free_bytes)} free"
