"""The advisor's figures in the text format of Prometheus, read from the rows when asked for."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from advisor.access.api_auth import for_programs
from benchmarks.inventory.stored import known_inventory
from benchmarks.jobs.presence import silent_hosts
from benchmarks.models import ACTIVE_RUN_STATES, Host, Run
from tuning.models import ACTIVE_STUDY_STATES, Study


@for_programs
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a session or a token, which Prometheus sends as `Authorization: Bearer ...`."""
    registry = CollectorRegistry()
    registry.register(Rows())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class Rows(Collector):
    """Counts rows; a handful of queries, however many there are."""

    def describe(self) -> list[Metric]:
        return []  # nothing is read before somebody asks

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("advisor_info", "Version of the advisor.", labels=["version"])
        info.add_metric([settings.CODE_VERSION], 1)
        yield info
        hosts = list(Host.objects.filter(retired_at=None).order_by("name"))
        yield from _studies()
        yield from _runs()
        yield _silent(hosts)
        yield from _disks(hosts)


def _studies() -> Iterator[Metric]:
    queue = GaugeMetricFamily(
        "advisor_studies", "Studies that have not ended.", labels=["host", "state"]
    )
    active = Study.objects.filter(state__in=ACTIVE_STUDY_STATES).order_by()
    for host, state, number in active.values_list("host__name", "state").annotate(Count("pk")):
        queue.add_metric([host, state], number)
    paused = GaugeMetricFamily("advisor_paused_studies", "Studies on hold.", labels=["host"])
    on_hold = active.exclude(paused_at=None)
    for host, number in on_hold.values_list("host__name").annotate(Count("pk")):
        paused.add_metric([host], number)
    yield queue
    yield paused


def _runs() -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "advisor_active_runs", "Runs that wait or are measured.", labels=["host", "state"]
    )
    ended = CounterMetricFamily(
        "advisor_runs", "Runs that have ended, by outcome.", labels=["host", "outcome"]
    )
    measured = CounterMetricFamily(
        "advisor_measured_seconds", "Seconds that runs measured.", labels=["host"]
    )
    disturbed = CounterMetricFamily(
        "advisor_disturbed_runs", "Runs that something else on the host voided.", labels=["host"]
    )
    rows = Run.objects.order_by()
    for host, state, number in rows.values_list("host__name", "state").annotate(Count("pk")):
        (waiting if state in ACTIVE_RUN_STATES else ended).add_metric([host, state], number)
    for host, seconds in rows.values_list("host__name").annotate(Sum("measured_seconds")):
        measured.add_metric([host], seconds or 0.0)
    voided = rows.exclude(disturbances=[])
    for host, number in voided.values_list("host__name").annotate(Count("pk")):
        disturbed.add_metric([host], number)
    yield from (waiting, ended, measured, disturbed)


def _silent(hosts: list[Host]) -> Metric:
    silent = set(silent_hosts().values_list("pk", flat=True))
    found = GaugeMetricFamily(
        "advisor_host_silent", "1: the host's worker does not report.", labels=["host"]
    )
    for host in hosts:
        found.add_metric([host.name], float(host.pk in silent))
    return found


def _disks(hosts: list[Host]) -> Iterator[Metric]:
    labels = ["host", "path"]
    free = GaugeMetricFamily("advisor_disk_free_bytes", "Free for a server.", labels=labels)
    kept = GaugeMetricFamily("advisor_disk_reserve_bytes", "To be left free.", labels=labels)
    for host in hosts:
        inventory = known_inventory(host)
        if inventory is None:
            continue
        for directory in inventory.directories:
            where = [host.name, str(directory.path)]
            free.add_metric(where, directory.room.free)
            kept.add_metric(where, directory.room.reserve)
    yield free
    yield kept
