"""What each set of rules advises for a host and its devices, before any study."""

from __future__ import annotations

from benchmarks.inventory.stored import inventory_of
from tuning.configs.candidates import PlannedCandidate
from tuning.proposals.plan import plan_proposals
from tuning.proposals.rule_sets import RULE_SETS
from tuning.studies.arrangement import arrange
from tuning.studies.hosts import host_for
from tuning.studies.request import StudyRequest, sizes_of
from tuning.study_templates.loader import load_template


def proposals_here(request: StudyRequest) -> list[PlannedCandidate]:
    """Each set's config for what the request names; nothing is stored or measured.

    Raises TuningError or BenchmarkError as creating the study would.
    """
    template = load_template(request.template)
    host = host_for(request.host, request.devices)
    inventory = inventory_of(host)
    sizes = sizes_of(request, template, inventory.logical_cpus)
    arranged = arrange(request, template, host, inventory, sizes)
    return list(plan_proposals(RULE_SETS, arranged.measured_before).values())
