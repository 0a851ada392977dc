"""What a running study measures next: its strategy proposes, this writes it down as rows.

One block at a time is queued, because a strategy may decide after each what is in the next one.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.db.models import Max

from tuning.errors import TuningError
from tuning.models import Candidate, Elimination, SlotPurpose, Study
from tuning.strategy.compose import strategy_for
from tuning.strategy.protocol import Proposal, Strategy
from tuning.studies.forecast import Place, measurable, places
from tuning.studies.history import history_of
from tuning.studies.rows import add_slots


def strategy_of(study: Study) -> Strategy:
    """The strategy that the study was created with."""
    return strategy_for(races=study.races, confirms=study.confirms)


def continue_study(study: Study) -> bool:
    """Queue what is to be measured next; False when the study is at its end.

    To be called when nothing of the study is queued or running. Safe to call twice at once.
    Raises TuningError for a proposal that cannot be written: unsupported_proposal.
    """
    strategy = strategy_of(study)
    try:
        with transaction.atomic():
            return any(_continue(study, place, strategy) for place in places(study))
    except IntegrityError:
        # Somebody else queued the same runs a moment ago.
        return True


def _continue(study: Study, place: Place, strategy: Strategy) -> bool:
    answer = strategy.propose(history_of(study, place))
    _store_dropped(study, place, answer.dropped)
    if not isinstance(answer, Proposal):
        return False
    write_proposal(study, place, answer)
    return True


def write_proposal(study: Study, place: Place, proposal: Proposal) -> None:
    """Queue the runs of a proposal behind all others; those that are there already stay.

    Raises TuningError, unsupported_proposal, for a candidate that the study does not have: a
    config is only measured once the gate has let it through, which happens before the first run.
    """
    by_name = {candidate.name: candidate for candidate in measurable(study)}
    unknown = {run.candidate for run in proposal.runs} - by_name.keys()
    if proposal.new or unknown:
        names = ", ".join(sorted(unknown | {one.name for one in proposal.new}))
        raise TuningError(
            "unsupported_proposal",
            f"{names}: no candidate of this study that the gate let through",
        )
    add_slots(study, place.device, place.workload, proposal.runs, by_name)


def _store_dropped(study: Study, place: Place, dropped: Mapping[str, str]) -> None:
    if not dropped:
        return
    here = study.slots.filter(
        device=place.device, workload=place.workload, purpose=SlotPurpose.BLOCK
    )
    after_block = here.aggregate(last=Max("block"))["last"] or 0
    for candidate in Candidate.objects.filter(study=study, name__in=dropped):
        Elimination.objects.get_or_create(
            candidate=candidate,
            device=place.device,
            workload=place.workload,
            defaults={
                "study": study,
                "after_block": after_block,
                "reason": dropped[candidate.name],
            },
        )
