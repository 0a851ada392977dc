"""What each set of rules advises for a host and its devices, before any study."""

from __future__ import annotations

from tuning.configs.candidates import PlannedCandidate
from tuning.proposals.plan import plan_proposals
from tuning.proposals.rule_sets import RULE_SETS
from tuning.requests.study import StudyRequest
from tuning.studies.arrangement import arrange


def proposals_here(request: StudyRequest) -> list[PlannedCandidate]:
    """Each set's config for what the request names; nothing is stored or measured.

    Raises TuningError or BenchmarkError as creating the study would.
    """
    return list(plan_proposals(RULE_SETS, arrange(request).measured_before).values())
