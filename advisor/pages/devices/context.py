"""Contexts of the device pages, gathered from the rows; the templates only lay them out."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from advisor.charts.figure import Figure
from advisor.charts.over_months import UNITS, DrawnPoint, months_figure, recent_sentence
from advisor.pages.devices.forms import KINDS
from advisor.pages.lists import Listing, text_asked, with_words
from advisor.wording.formatting import significant
from benchmarks.emulation.profile import NATIVE
from benchmarks.models import Device
from benchmarks.storage.identity import DeviceIdentity
from tuning.comparison.history import BaselineHistory, Point
from tuning.hosts.known import known_devices
from tuning.models import Study
from tuning.statistics.data import Metric
from tuning.studies.waiting import mark_waiting


@dataclass(frozen=True)
class Layer:
    """One layer between file system and disk, with details."""

    name: str
    detail: str = ""


def studies_on(device: Device) -> list[Study]:
    """All studies that measure on the device, newest first."""
    studies = list(device.studies.select_related("server").order_by("-id"))
    mark_waiting(studies)
    return studies


def layers_of(identity: DeviceIdentity) -> list[Layer]:
    """Return the layers from the file system down to the disk."""
    layers = [Layer(identity.file_system or "file system unknown")]
    layers += [Layer(name) for name in identity.layers]
    if identity.block_device:
        layers.append(Layer(identity.block_device, identity.model or "model unknown"))
    elif identity.model:
        layers.append(Layer(identity.model))
    return layers


def advise_command(device: Device) -> str:
    """The shell command that starts a study on the device."""
    words = ["--device", device.data_dir]
    if device.log_dir:
        words += ["--log-dir", device.log_dir]
    if profile := device.profile:
        # A memory limit alone needs no profile.
        if profile.name != NATIVE:
            words += ["--emulate", profile.name]
        if profile.memory_bytes is not None:
            words += ["--memory-limit", f"{profile.memory_bytes / 1e6:.0f}"]
    return f".venv/bin/python manage.py advise {shlex.join(words)}"


#: Retired devices have no pages.
MAX_RETIRED = 50
#: The columns in which a word is looked for.
COLUMNS = ("host__name", "data_dir", "log_dir", "kind", "model", "block_device", "emulation_label")
DEVICES = Listing(
    "device-list",
    "device",
    "devices",
    COLUMNS,
    "Host, directory or model",
    before="Previous",
    after="Next",
)


def listed_devices(asked: QueryDict) -> dict[str, Any]:
    """Return the template context of the list: a page of those in use, then retired ones."""
    kind = text_asked(asked, "kind")
    rows = Device.objects.select_related("host").order_by("host__name", "data_dir", "pk")
    rows = rows.defer("host__inventory", "host__datasets", "identity", "log_identity")
    if kind:
        rows = rows.filter(kind=kind)
    gone = with_words(rows.exclude(retired_at=None), text_asked(asked), COLUMNS)
    retired = list(gone.order_by("-retired_at")[: MAX_RETIRED + 1])
    has_more = len(retired) > MAX_RETIRED
    shown = DEVICES.read(asked, rows.filter(retired_at=None), is_long=has_more, kind=kind)
    lines = known_devices([*shown, *retired[:MAX_RETIRED]])
    there = len(shown.page)
    return {
        "list": shown,
        "lines": lines[:there],
        "retired": lines[there:],
        "more_retired": has_more,
        "probing": any(line.active for line in lines[:there]),
        "kinds": KINDS,
    }


X_TITLE = "day on which the study's last run ended, UTC"


def history_sentence(history: BaselineHistory) -> str:
    """Summarize the newest studies with the same server, kernel and settings."""
    return recent_sentence("throughput", "studies", history.recent)


def history_figure(history: BaselineHistory) -> Figure | None:
    """Draw a series for each set of studies that can be compared; None if all have one point."""
    series = [
        (f"{number}: {points[0].server}", [_drawn(point) for point in points])
        for number, points in enumerate(history.series, start=1)
    ]
    return months_figure(series, f"throughput, {UNITS[Metric.THROUGHPUT]}", X_TITLE)


def _drawn(point: Point) -> DrawnPoint:
    texts = point.name, f"{significant(point.throughput)} {UNITS[Metric.THROUGHPUT]}"
    page = "gate-detail" if point.is_gate else "study-detail"
    return DrawnPoint(point.at, point.throughput, texts, reverse(page, args=[point.study]))
