"""A search begins with the best of earlier studies in its situation, and with no other's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from advisor.tests.search_study import queued_slot
from advisor.tests.test_search_asked import CAPACITY, POOL, host, search
from benchmarks.models import (
    Config,
    Run,
    RunState,
    Server,
)
from tuning.configs.values import config_hash
from tuning.creation.create import create_study
from tuning.models import Candidate, SlotPurpose, Study, StudyState
from tuning.requests.device import DeviceRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results import search as search_results
from tuning.results.boards import boards_of, screened_runs
from tuning.results.document import EarlierStudies
from tuning.results.study_rows import StudyRows
from tuning.strategy.protocol import Proposal
from tuning.strategy.search.search import Search
from tuning.studies.budget import places
from tuning.studies.continuation import search_plan, strategy_of
from tuning.studies.strategy_history import history_of

__all__ = ["host"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("host")]

WANTED = search(knobs=(POOL, CAPACITY))
# Values of innodb_io_capacity and what they are worth, in log units.
FOUND = (("400", 0.3), ("800", 0.2), ("600", -0.1))


def begun(wanted: SearchRequest = WANTED, **values: Any) -> Study:
    """A new search, as it is stored."""
    study = create_study(StudyRequest(template="search", search=wanted, seed=7, **values))
    return Study.objects.get(pk=study.pk)


def earlier(
    found: Sequence[tuple[str, float]] = FOUND,
    *,
    state: RunState = RunState.OK,
    purpose: SlotPurpose = SlotPurpose.SEARCH,
    **values: Any,
) -> Study:
    """A search that measured these and has finished."""
    study = begun(search(knobs=(POOL, CAPACITY), warm_start=False), **values)
    baseline = study.candidates.get(is_baseline=True)
    for block, (value, gain) in enumerate(found, 1):
        ended(queued_slot(study, baseline, block, purpose).run, 6000.0)
        slot = queued_slot(study, candidate(study, {CAPACITY: value}), block, purpose)
        ended(slot.run, 6000 * math.exp(gain), state)
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
    return study


def candidate(study: Study, knobs: dict[str, str], **values: Any) -> Candidate:
    config, _ = Config.objects.get_or_create(hash=config_hash(knobs), defaults={"knobs": knobs})
    return Candidate.objects.create(
        study=study,
        name=f"search-{config.pk}",
        config=config,
        position=study.candidates.count() + 5,
        found_by_search=True,
        **values,
    )


def ended(run: Run, throughput: float, state: RunState = RunState.OK) -> None:
    Run.objects.filter(pk=run.pk).update(
        state=state,
        throughput=throughput if state == RunState.OK else None,
        p95_ms=3e5 / throughput,
        comparability_key="same",
        fingerprint={"logical_cpus": "2"},
    )


def began_with(study: Study) -> EarlierStudies | None:
    assert study.search is not None
    return search_results.began_with(study.search)


def test_a_search_is_stored_with_what_earlier_studies_measured() -> None:
    before = earlier()
    study = begun()
    assert began_with(study) == EarlierStudies(studies=(before.pk,), configs=3, runs=3)
    assert study.search is not None
    plan = search_plan(study.search)
    assert {(one.study, one.runs) for one in plan.earlier} == {(before.pk, 1)}
    gains = {one.knobs[CAPACITY]: one.gain for one in plan.earlier}
    assert gains == pytest.approx(dict(FOUND))
    ids = [run for one in study.search["earlier"] for run in one["runs"]]
    assert set(ids) == set(
        Run.objects.filter(slot__candidate__found_by_search=True).values_list("pk", flat=True)
    )


def test_the_newest_studies_come_first_and_each_counts() -> None:
    first, second = earlier(), earlier((("400", 0.1),))
    found = begun()
    assert began_with(found) == EarlierStudies(studies=(first.pk, second.pk), configs=4, runs=4)
    assert found.search is not None
    assert search_plan(found.search).earlier[0].study == second.pk


def test_a_restart_proposes_the_same_whatever_was_measured_since() -> None:
    earlier()
    study = begun()

    def first() -> Any:
        strategy = strategy_of(Study.objects.get(pk=study.pk))
        assert isinstance(strategy, Search)
        history = history_of(study, places(study)[0])
        return strategy.propose(history.among(()))  # as if nothing else was given

    once = first()
    assert isinstance(once, Proposal)
    values = [float(one.knobs[CAPACITY]) for one in once.new]
    assert values == pytest.approx([400, 800], rel=0.06)  # the nearest of the space's steps
    earlier((("1200", 0.9),))
    assert first() == once


def test_their_figures_are_in_no_ranking_and_in_no_importance() -> None:
    earlier()
    study = begun()
    result = StudyRows(study)
    assert not boards_of(result)
    assert not screened_runs(result.slots)
    assert not history_of(study, places(study)[0]).screened


def _of_baseline(before: Study) -> Any:
    return Run.objects.filter(slot__study=before, slot__candidate__is_baseline=True)


def _other_baseline(before: Study) -> None:
    knobs = {CAPACITY: "300"}
    config = Config.objects.create(hash=config_hash(knobs), knobs=knobs)
    before.candidates.filter(is_baseline=True).update(config=config)


def _device(**values: object) -> Callable[[Study], object]:
    return lambda before: before.devices.update(**values)


def _load(**values: object) -> Callable[[Study], object]:
    return lambda before: before.workloads.update(**values)


def _server(**values: object) -> Callable[[Study], object]:
    return lambda before: Server.objects.filter(pk=before.server_id).update(**values)


def _study(**values: object) -> Callable[[Study], object]:
    return lambda before: Study.objects.filter(pk=before.pk).update(**values)


CPUS = {"fingerprint": {"logical_cpus": "999"}}
CHANGES: dict[str, Callable[[Study], object]] = {
    "device": _device(model="another model"),
    "limits": _device(emulation_label="emulated HDD"),
    "logs": _device(log_dir="/srv/logs"),
    "driver": _load(driver="another"),
    "warehouses": _load(warehouses=40),
    "workload": _load(name="oltp_read_write"),
    "connections": _load(connections=200),
    "flavour": _server(flavour="mariadb"),
    "version": _server(version="8.0.40"),
    "memory": _study(memory_bytes=10**6),
    "unknown memory": _study(memory_bytes=None),
    "cancelled": _study(state=StudyState.CANCELLED),
    "running": _study(state=StudyState.RUNNING),
    "scale model": _study(scale_model={"data_bytes": 1}),
    "baseline": _other_baseline,
    "processors": lambda before: Run.objects.filter(slot__study=before).update(**CPUS),
    "no baseline": lambda before: _of_baseline(before).update(state=RunState.DISTURBED),
    "not comparable": lambda before: _of_baseline(before).update(comparability_key="other"),
}


def with_rows_of_its_own(before: Study) -> Study:
    """The same with copies of the rows that studies share: changing them changes no other."""
    device, workload, server = before.devices.get(), before.workloads.get(), before.server
    slots = before.slots.filter(device=device)
    device.pk, device.data_dir = None, f"{device.data_dir}-before"
    workload.pk, workload.warmup_s = None, workload.warmup_s + 1
    server.pk, server.path = None, "/before/mysqld"
    for row in (device, workload, server):
        row.save()
    before.devices.set([device])
    before.workloads.set([workload])
    slots.update(device=device, workload=workload)
    Study.objects.filter(pk=before.pk).update(server=server)
    return Study.objects.get(pk=before.pk)


def test_emulated_devices_count_with_the_same_limits() -> None:
    def on(megabytes: int, emulate: str = "hdd") -> dict[str, Any]:
        return {"devices": [DeviceRequest(emulate=emulate, memory_mb=megabytes)]}

    before = earlier(**on(1000))
    assert began_with(begun(**on(1000))) == EarlierStudies(studies=(before.pk,), configs=3, runs=3)
    assert began_with(begun(**on(1300))) is None
    assert began_with(begun(**on(1000, "sata-ssd"))) is None


def test_a_study_on_another_device_of_the_same_kind_counts() -> None:
    before = with_rows_of_its_own(earlier())
    assert began_with(begun()) == EarlierStudies(studies=(before.pk,), configs=3, runs=3)


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_a_study_of_another_situation_is_left_out(change: str) -> None:
    CHANGES[change](with_rows_of_its_own(earlier()))
    assert began_with(begun()) is None


def test_configs_that_failed_or_were_never_beside_a_baseline_are_left_out() -> None:
    earlier(state=RunState.CRASHED)
    earlier(state=RunState.DISTURBED)
    earlier(purpose=SlotPurpose.ABLATION)
    before = earlier()
    slot = before.slots.filter(candidate__found_by_search=True).first()
    assert slot is not None
    ended(queued_slot(before, slot.candidate, 9).run, 1.0, RunState.CRASHED)
    assert began_with(begun()) == EarlierStudies(studies=(before.pk,), configs=2, runs=2)


def test_only_configs_of_the_new_space_are_begun_with() -> None:
    before = earlier()
    bounded = search(knobs=(POOL, CAPACITY), bounds={CAPACITY: ("500", "700")})
    assert began_with(begun(bounded)) == EarlierStudies(studies=(before.pk,), configs=1, runs=1)
    assert began_with(begun(search(knobs=(POOL,)))) is None
    pinned = search(knobs=(POOL,), pinned={CAPACITY: "400"})
    assert began_with(begun(pinned)) == EarlierStudies(studies=(before.pk,), configs=1, runs=1)
    apart = before.slots.filter(candidate__found_by_search=True)
    Candidate.objects.filter(slots__in=apart).update(logs_with_data=True)
    assert began_with(begun()) is None


def test_a_limit_that_was_raised_for_the_connections_is_no_other_config() -> None:
    before = earlier(())
    one = candidate(
        before,
        {CAPACITY: "400", "max_connections": "300"},
        notes=[{"name": "max_connections", "action": "adjusted", "detail": "raised"}],
    )
    ended(queued_slot(before, before.candidates.get(is_baseline=True), 1).run, 6000.0)
    ended(queued_slot(before, one, 1).run, 7000.0)
    assert began_with(begun()) == EarlierStudies(studies=(before.pk,), configs=1, runs=1)
    Candidate.objects.filter(pk=one.pk).update(notes=[])
    assert began_with(begun()) is None


def test_a_cold_start_begins_with_nothing() -> None:
    earlier()
    study = begun(search(knobs=(POOL, CAPACITY), warm_start=False))
    assert began_with(study) is None
