"""The Celery tasks: two lines each, because a message only says "wake up"."""

from __future__ import annotations

from celery import shared_task

from benchmarks.models import Probe, Run
from benchmarks.services.probes import execute_probe
from benchmarks.services.runs import execute_run
from tuning.models import Study
from tuning.services.cutting import cut_rule_of
from tuning.services.dispatch import EXECUTE, PREPARE, PROBE, advance_host
from tuning.services.prepare import prepare_study


@shared_task(name=EXECUTE)
def execute(run_id: int) -> None:
    if execute_run(run_id, cutting=cut_rule_of):
        advance_host(Run.objects.values_list("host_id", flat=True).get(pk=run_id))


@shared_task(name=PREPARE)
def prepare(study_id: int) -> None:
    prepare_study(study_id)
    advance_host(Study.objects.values_list("host_id", flat=True).get(pk=study_id))


@shared_task(name=PROBE)
def probe(probe_id: int) -> None:
    if execute_probe(probe_id):
        advance_host(Probe.objects.values_list("device__host_id", flat=True).get(pk=probe_id))
