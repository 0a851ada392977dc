from __future__ import annotations

import pytest
from django.db.models import CharField, Func

from advisor.tests import factories
from benchmarks.models import Run, RunState
from benchmarks.ready_query import ANY, ANYTHING, ReadyObjects, ReadyQuery, in_the_text
from tuning.models import Candidate


@pytest.mark.django_db
def test_states_are_constants_of_a_query_and_percent_signs_stay_what_they_are() -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    failed = Run.objects.filter(slot__study=study).exclude(state=RunState.OK)
    said = Func(template="'50%%%% of it'", output_field=CharField())
    rows = Run.objects.filter(slot__study=ANY).exclude(state=RunState.OK).annotate(said=said)
    ready = ReadyQuery.of(rows.order_by("pk").values_list("pk", "said"))
    assert f"'{RunState.OK}'" in ready.text
    assert ready.parameters == (ANY,)
    expected = [(pk, "50% of it") for pk in failed.order_by("pk").values_list("pk", flat=True)]
    assert ready.rows(study.pk) == expected != []


@pytest.mark.django_db
def test_a_number_in_the_text_of_a_query_finds_what_a_parameter_finds() -> None:
    candidates = Candidate.objects.filter(study=factories.measured_study(blocks=1))
    config = candidates.latest("position").config_id
    found = candidates.filter(config=in_the_text(config))
    assert len(found.query.sql_with_params()[1]) == 1  # the study
    assert list(found) == list(candidates.filter(config=config)) != []


@pytest.mark.django_db
def test_a_query_for_any_of_several_finds_what_django_finds_for_these() -> None:
    study = factories.measured_study(blocks=2)
    rows = Run.objects.order_by("pk")
    slots, devices = rows.filter(slot__order__in=[ANY]), [study.devices.get().pk]
    ready = ReadyQuery.of(slots.filter(device__in=[ANYTHING[1]]).values_list("pk"))
    for orders in ([2], {1, 3, 4}, ()):
        expected = rows.filter(slot__order__in=orders).values_list("pk")
        assert ready.rows(orders, devices) == list(expected)
        assert len(expected) == len(orders)
    assert ready.rows([2], [devices[0] + 1]) == []
    assert [run.pk for run in ReadyObjects(slots).all([2, 3])] == [
        pk for (pk,) in ready.rows([2, 3], devices)
    ]
