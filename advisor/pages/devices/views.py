"""The list of devices, the page of a device and its probes."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from advisor.charts.figure import charts_answer
from advisor.charts.probe import probe_figures
from advisor.pages.devices.array import array_view
from advisor.pages.devices.context import (
    advise_command,
    history_figure,
    history_sentence,
    layers_of,
    listed_devices,
    studies_on,
)
from advisor.pages.devices.forms import AddDeviceForm
from advisor.pages.devices.probe import probe_view, step_words, waits_for
from advisor.wording.words import certainty
from benchmarks.errors import ExpectedError
from benchmarks.models import ACTIVE_JOB_STATES, Device, JobState, Probe
from tuning.comparison.history import baseline_history
from tuning.creation.devices import register_device
from tuning.hosts.known import answers_for


@require_http_methods(["GET", "POST"])
def device_list(request: HttpRequest) -> HttpResponse:
    """A page of the devices; on POST adds one, or shows the errors beside the fields.

    `?find=` and `?kind=` choose devices; `?host=` and `?path=` fill in the form.
    """
    initial = {name: request.GET[name] for name in ("host", "path") if name in request.GET}
    form = AddDeviceForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_bound and form.is_valid():
        try:
            device = register_device(form.device_request())
        except ExpectedError as error:
            form.add_refusal(error)
        else:
            messages.success(request, "Device added. Probe it to measure its IOPS and latency.")
            return redirect("device-detail", pk=device.pk)
    context = {"form": form, **listed_devices(request.GET)}
    status = 400 if form.is_bound else 200
    return render(request, "devices/list.html", context, status=status)


@require_GET
def device_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One device: identity, results of its newest probe, best config so far."""
    return render(request, "devices/detail.html", _device_context(_device(pk)))


@require_GET
def device_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx every two seconds while a probe of the device is active.

    It includes the newest result, to be swapped out of band, only if `seen` is not its stamp.
    """
    device = _device(pk)
    context = _live_context(device)
    if request.GET.get("seen") != context["stamp"]:
        context = _device_context(device) | {"swaps_results": True}
    return render(request, "devices/_live_answer.html", context)


@require_GET
def probe_detail(request: HttpRequest, pk: int, probe: int) -> HttpResponse:
    """One probe of a device: its results, or why it has none."""
    device = _device(pk)
    row = _probe(pk, probe)
    view = probe_view(row)
    context = {
        "device": device,
        "shown": row,
        "view": view,
        "layers": layers_of(view.found.device) if view else [],
        "array": array_view(device, view.found if view else None),
    }
    return render(request, "devices/probe.html", context)


@require_GET
def probe_charts(request: HttpRequest, pk: int, probe: int) -> HttpResponse:
    """Answer the charts of a probe."""
    found = _probe(pk, probe).found
    return charts_answer(probe_figures(found) if found else {})


@require_GET
def device_history_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer the chart of a device's baseline over months."""
    history = baseline_history(_device(pk))
    figure = None if history is None else history_figure(history)
    return charts_answer({"baseline": figure} if figure is not None else {})


def _device(pk: int) -> Device:
    return get_object_or_404(Device.objects.select_related("host"), pk=pk)


def _probe(device: int, probe: int) -> Probe:
    rows = Probe.objects.select_related("device", "created_by")
    return get_object_or_404(rows, pk=probe, device__pk=device)


def _live_context(device: Device) -> dict[str, Any]:
    """The part that changes every second; `stamp` changes when a probe starts or ends."""
    newest = device.probes.defer("result").select_related("created_by").first()
    active = newest if newest and not newest.is_finished else None
    return {
        "device": device,
        "is_in_use": device.retired_at is None and not device.host.is_retired,
        "newest": newest,
        "active": active,
        "step": step_words(active.step) if active else "",
        "percent": round(active.fraction * 100) if active else 0,
        "waits_for": waits_for(active) if active and active.state == JobState.QUEUED else {},
        "stamp": "" if newest is None else f"{newest.pk}.{newest.is_finished}",
    }


def _device_context(device: Device) -> dict[str, Any]:
    # First: a probe that ends meanwhile still counts as active, so the page asks for its result.
    live = _live_context(device)
    identity, log = device.found, device.found_for_logs
    shown = device.probes.filter(state=JobState.OK).select_related("device", "created_by").first()
    view = probe_view(shown) if shown else None
    history = baseline_history(device)
    return {
        **live,
        "history": history,
        "history_sentence": "" if history is None else history_sentence(history),
        "identity": identity,
        "layers": layers_of(identity) if identity else [],
        "log": log,
        "log_layers": layers_of(log) if log else [],
        "profile": device.profile,
        "is_throttled": device.is_throttled,
        "shown": shown,
        "view": view,
        "probes": _ended_probes(device),
        "array": array_view(device, view.found if view else None),
        "answers": [(answer, certainty(answer)) for answer in answers_for(device)],
        "studies": studies_on(device),
        "command": advise_command(device),
    }


def _ended_probes(device: Device) -> list[Probe]:
    """Newest first, without their results."""
    ended = device.probes.exclude(state__in=ACTIVE_JOB_STATES)
    return list(ended.defer("result").select_related("created_by"))
