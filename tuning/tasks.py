"""The Celery tasks: two lines each, because a message only says "wake up"."""

from __future__ import annotations

from celery import shared_task

from benchmarks.jobs.probes import execute_probe
from benchmarks.jobs.runs import execute_run
from benchmarks.models import Probe, Run
from tuning.models import Study
from tuning.studies.early_stop import cut_rule_of
from tuning.studies.preparation import prepare_study
from tuning.studies.scheduler import EXECUTE, PREPARE, PROBE, advance_host


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
