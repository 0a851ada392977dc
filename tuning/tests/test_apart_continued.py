"""Taking a winner apart, and what comes in between: conclusions, more time, crash tests."""

from __future__ import annotations

import pytest

from benchmarks.models import Run, RunState
from tuning.models import SlotPurpose, StudyState
from tuning.studies.concluding import conclude_study
from tuning.tests.test_concluding import until
from tuning.tests.test_search_rows import to_the_end
from tuning.tests.test_study_lifecycle import host_of_fakes, sent
from tuning.tests.test_taken_apart import measuring, started

__all__ = ["host_of_fakes", "sent"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]


def test_a_disturbed_run_of_a_variant_is_not_measured_again_after_an_early_conclusion() -> None:
    study = started()
    apart = study.slots.filter(purpose=SlotPurpose.APART)
    until(study, lambda: apart.filter(run__state=RunState.OK).exists(), measuring())
    slot = apart.filter(run__state=RunState.OK).get()
    Run.objects.filter(pk=slot.run_id).update(state=RunState.DISTURBED, tpmP=None)
    conclude_study(study)
    study = to_the_end(study, measuring())
    assert study.state == StudyState.FINISHED, study.reason
    slot.refresh_from_db()
    assert slot.run.state == RunState.DISTURBED
    assert not slot.run.retry_of_id
