"""Gates as rows: created, measured pair by pair, decided, and what may be named in them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from benchmarks.drivers.workloads import OLTP_DRIVER
from benchmarks.errors import NotListed, RunFailed
from benchmarks.inventory import in_place
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import BinaryLog, Run, RunState
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.made_up_host import this_host
from tuning.catalogue.knob import Durability
from tuning.comparison.history import gate_history
from tuning.creation.create import create_study
from tuning.creation.gates import create_gate
from tuning.errors import BadRequest, InvalidConfig, TuningError
from tuning.models import GateVerdict, SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.gate import GateRequest, GateSide
from tuning.requests.study import StudyRequest
from tuning.results.boards import boards_of
from tuning.results.gate import GateOutcome, gate_document
from tuning.results.study_rows import StudyRows
from tuning.studies import trials
from tuning.studies.commands import conclude_study, extend_study
from tuning.studies.preparation import servers_of
from tuning.studies.progress import study_progress
from tuning.tests.fakes import BINARY, begin, measurement, run_to_the_end
from tuning.tests.fakes import started as trial_of
from tuning.tests.work import execute_run

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

OTHER = ServerBinary(
    path=Path("/nowhere/mariadbd"),
    flavour=Flavour.MARIADB,
    version=(10, 11, 14),
    version_text="10.11.14",
    digest="e" * 64,
    basedir=None,
)
CHANGED = ConfigText.of("changed", b"[mysqld]\ninnodb_io_capacity = 5000\n")
PAIRS = 12


def gate(candidate: GateSide | None = None, **values: Any) -> Study:
    facts: dict[str, Any] = {
        "name": "nightly",
        "limits": {"throughput": 5},
        "max_pairs": PAIRS,
        "seed": 7,
        "warmup_s": 1,
        "measure_s": 5,
    }
    return create_gate(
        GateRequest(candidate=candidate or GateSide(config=CHANGED), **(facts | values))
    )


def measuring(loss: float = 0.0, noise: float = 0.01) -> Callable[..., Measurement]:
    """What sets options, or runs on the other server, is slower by `loss`."""

    def measure(plan: Plan, **_: Any) -> Measurement:
        is_changed = plan.binary.digest == OTHER.digest or bool(set(plan.options) - {"log_bin"})
        chance = math.exp(random.Random(plan.load.seed).gauss(0, noise))
        key = f"on {plan.binary.digest[:3]}"
        return measurement((1 - loss if is_changed else 1) * 6000.0 * chance, key)

    return measure


@pytest.fixture
def two_servers(host_of_fakes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    by_path = {BINARY.path: BINARY, OTHER.path: OTHER}
    this_host(
        servers=[BINARY, OTHER],
        driver=FakeDriver.name,
        directories=[django_settings.DEFAULT_DEVICE],
    )
    monkeypatch.setattr(in_place, "identify", lambda path: by_path[path])


def test_a_gate_measures_the_workload_that_is_asked_for() -> None:
    this_host(servers=[BINARY], driver=OLTP_DRIVER, directories=[django_settings.DEFAULT_DEVICE])
    [workload] = gate(workload="oltp_read_only", tables=3).workloads.all()
    assert workload.title == "oltp_read_only, 3 tables of 500,000 rows"
    assert (workload.driver, workload.warehouses) == (OLTP_DRIVER, 0)
    [again] = gate(workload="oltp_read_only", tables=3).workloads.all()
    assert again == workload


def test_an_equal_candidate_passes_after_few_pairs_in_random_order() -> None:
    study = gate()
    assert study_progress(study).runs_total == 2 * PAIRS
    study = run_to_the_end(study, measuring())
    assert study.state == StudyState.FINISHED
    verdict = GateVerdict.objects.get(study=study)
    assert (verdict.verdict, study.recommendations.count()) == ("pass", 0)
    assert "throughput" in verdict.reason
    assert "at least -5 %" in verdict.reason
    slots = list(study.slots.order_by("order"))
    assert {slot.purpose for slot in slots} == {SlotPurpose.GATE}
    assert 8 <= len(slots) < 2 * PAIRS
    firsts = {slot.candidate.is_baseline for slot in slots[::2]}
    assert firsts == {True, False}
    assert all(
        {first.block, second.block} == {first.block}
        for first, second in zip(slots[::2], slots[1::2], strict=True)
    )
    result = StudyRows(study)
    assert boards_of(result) == []
    document = gate_document(result)
    assert document.pairs == len(slots) / 2
    (limit,) = document.limits
    assert limit.low_percent is not None
    assert limit.low_percent > -5
    assert limit.pairs_to_decide is None


def test_a_slower_candidate_fails_and_its_interval_says_by_how_much() -> None:
    study = run_to_the_end(gate(), measuring(loss=0.3))
    (limit,) = study.gate_verdict.result["limits"]
    assert study.gate_verdict.verdict == "fail"
    assert limit["high_percent"] < -5
    assert limit["change_percent"] == pytest.approx(-30, abs=3)


def test_what_is_not_decided_when_the_pairs_are_spent_says_what_it_would_take() -> None:
    study = run_to_the_end(gate(max_pairs=5), measuring(loss=0.03, noise=0.08))
    assert study.slots.count() == 10
    assert study.gate_verdict.verdict == "undecided"
    assert "would decide" in study.gate_verdict.reason or "too near" in study.gate_verdict.reason
    with pytest.raises(TuningError, match="fixed before the first"):
        extend_study(study, 2)


def test_the_minutes_end_a_gate_as_well() -> None:
    with pytest.raises(BadRequest, match="too little for 4 pairs") as refused:
        gate(budget_minutes=1, measure_s=60)
    assert refused.value.field == "budget_minutes"
    study = gate(budget_minutes=10, max_pairs=100, measure_s=59)
    study = run_to_the_end(study, measuring(loss=0.05, noise=0.05))
    # A run takes as long as it warms up and measures at least.
    assert study.slots.count() == 10
    assert study.gate_verdict.verdict == "undecided"


def test_a_candidate_whose_run_fails_fails_the_gate_at_once() -> None:
    def measure(plan: Plan, **_: Any) -> Measurement:
        if plan.options:
            raise RunFailed(Outcome.CRASHED, "it crashed")
        return measurement()

    study = run_to_the_end(gate(), measure)
    assert study.gate_verdict.verdict == "fail"
    assert "it crashed" in study.gate_verdict.reason
    assert study.slots.count() == 2


def test_a_candidate_that_the_server_refuses_fails_without_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(binary: ServerBinary, options: dict[str, str], **values: Any) -> Any:
        if options:
            raise RunFailed(Outcome.INVALID_CONFIG, "unknown variable")
        return trial_of(binary, options, **values)

    monkeypatch.setattr(trials, "try_config", refuses)
    study = run_to_the_end(gate(), measuring())
    assert study.gate_verdict.verdict == "fail"
    assert "unknown variable" in study.gate_verdict.reason
    assert not study.slots.exists()


def test_the_same_config_is_measured_against_itself() -> None:
    study = run_to_the_end(gate(GateSide(stored="default")), measuring())
    assert study.gate_verdict.verdict == "pass"
    names = list(study.candidates.values_list("name", flat=True))
    assert names == ["server-default", "server-default-candidate"]


@pytest.mark.usefixtures("two_servers")
def test_another_server_is_measured_with_the_baselines_config() -> None:
    study = gate(
        GateSide(server=OTHER.path), baseline=GateSide(config=CHANGED, server=BINARY.path)
    )
    assert [server.flavour for server in servers_of(study)] == ["mysql", "mariadb"]
    study = run_to_the_end(study, measuring())
    assert study.gate_verdict.verdict == "pass"
    ran = {
        (slot.candidate.is_baseline, slot.run.server.flavour)
        for slot in study.slots.select_related("run__server", "candidate")
    }
    assert ran == {(True, "mysql"), (False, "mariadb")}
    assert Run.objects.values("comparability_key").distinct().count() == 2
    with pytest.raises(NotListed) as refused:
        gate(GateSide(server=Path("/nowhere/else")))
    assert refused.value.field == "candidate.server"


# As the two read back at their defaults.
OF_MYSQL = {
    "log_bin": "ON",
    "sync_binlog": "1",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_io_capacity": "10000",
    "innodb_buffer_pool_size": "134217728",
    "innodb_redo_log_capacity": "104857600",
    "performance_schema": "ON",
}
OF_MARIADB = {
    "log_bin": "OFF",
    "sync_binlog": "0",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_io_capacity": "5000",
    "innodb_buffer_pool_size": "134217728",
    "innodb_log_file_size": "100663296",
    "performance_schema": "OFF",
}


def reading_back(
    found: dict[str, str], loss: float = 0.0, **others: str
) -> Callable[..., Measurement]:
    """As `measuring`; the other server reads back `OF_MARIADB` with `others`."""

    def measure(plan: Plan, **_: Any) -> Measurement:
        is_other = plan.binary.digest == OTHER.digest
        variables = OF_MARIADB | others if is_other else found
        return replace(measuring(loss)(plan), variables=variables)

    return measure


@pytest.mark.usefixtures("two_servers")
def test_servers_whose_defaults_differ_are_compared_and_the_verdict_says_in_what() -> None:
    study = gate(
        GateSide(config=ConfigText.of("new", CHANGED.data), server=OTHER.path),
        baseline=GateSide(server=BINARY.path),
    )
    assert gate_document(StudyRows(study)).durability is None  # nothing has run yet
    study = run_to_the_end(study, reading_back(OF_MYSQL))
    verdict = study.gate_verdict
    assert verdict.verdict == "pass"
    assert "Only the baseline writes a binary log" in verdict.reason
    assert "4 settings differ by the servers' defaults, of durability sync_binlog, log_bin." in (
        verdict.reason
    )
    document = verdict.result
    assert document["durability"] == {"candidate": "D0", "baseline": "D0"}
    shown = [tuple(one.values()) for one in document["differences"]]
    assert shown == [
        ("sync_binlog", "0", "1", True, True),
        ("log_bin", "OFF", "ON", True, True),
        ("innodb_io_capacity", "5000", "10000", False, False),
        ("performance_schema", "OFF", "ON", False, True),
        ("redo log", "96M", "100M", False, True),
    ]


def telling_options(told: list[dict[str, str]]) -> Callable[..., Measurement]:
    """As `measuring`; the servers read back their defaults and what they are started with."""

    def measure(plan: Plan, **_: Any) -> Measurement:
        chosen = {name: str(value) for name, value in plan.options.items()}
        told.append(chosen)
        if len(told) == 1:
            raise RunFailed(Outcome.DISTURBED, "another program took 40 % of the processors")
        by_itself = OF_MARIADB if plan.binary.digest == OTHER.digest else OF_MYSQL
        return replace(measuring()(plan), variables=by_itself | chosen)

    return measure


@pytest.mark.usefixtures("two_servers")
@pytest.mark.parametrize(
    ("asked", "of_the_candidate", "said"),
    [
        (
            BinaryLog.ON,
            {"sync_binlog": "1", "binlog_format": "ROW"},
            "Both sides write a binary log, as was asked for.",
        ),
        (BinaryLog.OFF, {}, "Neither side writes a binary log, as was asked for."),
    ],
)
def test_both_servers_log_alike_where_that_is_asked_for(
    asked: BinaryLog,
    of_the_candidate: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[dict[str, str]] = []

    def start(binary: ServerBinary, options: dict[str, str], **values: Any) -> Any:
        tried.append(options)
        return trial_of(binary, options, **values)

    monkeypatch.setattr(trials, "try_config", start)
    sides = GateSide(server=OTHER.path), GateSide(server=BINARY.path)
    study = gate(sides[0], baseline=sides[1], binary_log=asked)
    candidate = study.candidates.get(is_baseline=False)
    assert candidate.config.knobs == of_the_candidate
    assert {note["name"] for note in candidate.notes} == of_the_candidate.keys()
    assert study.candidates.get(is_baseline=True).config.knobs == {}
    told: list[dict[str, str]] = []
    study = run_to_the_end(study, telling_options(told))
    log = {"log_bin": asked.value.upper()}
    # Of all runs, also of the one that was measured again.
    expected = [log, {**of_the_candidate, **log}]
    assert all(one in expected for one in (*tried, *told))
    assert all(one in tried and one in told for one in expected)
    assert Run.objects.exclude(retry_of=None).get().binary_log == asked
    verdict = study.gate_verdict
    assert verdict.verdict == "pass"
    assert said in verdict.reason
    assert "Only the" not in verdict.reason
    assert verdict.result["durability"] == {"candidate": "D0", "baseline": "D0"}
    assert "log_bin" not in {one["name"] for one in verdict.result["differences"]}
    # What is measured with another binary log has another level: it is no change of the server.
    as_it_is = run_to_the_end(gate(sides[0], baseline=sides[1]), telling_options([]))
    assert "Only the baseline writes a binary log" in as_it_is.gate_verdict.reason
    assert [point.pk for point in gate_history(as_it_is)] == [as_it_is.pk]
    assert [point.pk for point in gate_history(study)] == [study.pk]


@pytest.mark.usefixtures("two_servers")
def test_a_config_that_says_how_it_logs_keeps_that_where_it_is_allowed() -> None:
    lossy = GateSide(
        config=ConfigText.of("lossy", b"[mysqld]\nsync_binlog = 100\n"), server=OTHER.path
    )
    study = gate(
        lossy,
        baseline=GateSide(server=BINARY.path),
        binary_log=BinaryLog.ON,
        durability=Durability.D1,
    )
    knobs = study.candidates.get(is_baseline=False).config.knobs
    assert knobs == {"sync_binlog": "100", "binlog_format": "ROW"}


def test_a_config_that_may_lose_commits_is_refused_or_named_where_it_was_allowed() -> None:
    lossy = GateSide(
        config=ConfigText.of("lossy", b"[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n")
    )
    with pytest.raises(InvalidConfig, match="class D1, but only D0 is allowed"):
        gate(lossy)

    def measure(plan: Plan, **_: Any) -> Measurement:
        chosen = {name: str(value) for name, value in plan.options.items()}
        return replace(measuring()(plan), variables=OF_MYSQL | chosen)

    study = run_to_the_end(gate(lossy, durability=Durability.D1), measure)
    reason = study.gate_verdict.reason
    assert "The durability differs, D1 of the candidate and D0 of the baseline" in reason
    assert "with the candidate innodb_flush_log_at_trx_commit = 2 may lose" in reason
    assert "by the servers' defaults" not in reason
    (difference,) = study.gate_verdict.result["differences"]
    assert tuple(difference.values()) == (
        *("innodb_flush_log_at_trx_commit", "2", "1"),
        *(True, False),
    )


@pytest.mark.usefixtures("two_servers")
def test_runs_on_a_host_that_changed_are_not_compared() -> None:
    study = run_to_the_end(gate(GateSide(server=OTHER.path)), measuring())
    slot = study.slots.filter(candidate__is_baseline=True).order_by("order")[0]
    Run.objects.filter(pk=slot.run_id).update(fingerprint={"cpu_model": "another"})
    outcome = GateOutcome(StudyRows(study))
    assert len(outcome.compared) == len(outcome.pairs) - 1
    Run.objects.filter(slot__candidate__is_baseline=True).update(fingerprint={"kernel": "new"})
    assert GateOutcome(StudyRows(study)).obstacle[0] == "not_comparable"


@pytest.mark.parametrize("before", [1, 3])
def test_a_pair_during_which_the_host_changes_is_left_out(before: int) -> None:
    runs = count(1)

    def measure(plan: Plan, **_: Any) -> Measurement:
        chance = math.exp(random.Random(plan.load.seed).gauss(0, 0.01))
        kernel = "before" if next(runs) <= before else "since"
        return replace(measurement(6000.0 * chance, kernel), fingerprint={"kernel": kernel})

    study = run_to_the_end(gate(), measure)
    outcome = GateOutcome(StudyRows(study))
    assert (study.state, outcome.document().verdict) == (StudyState.FINISHED, "pass")
    # Of a first pair before it the host is another one.
    assert outcome.compared == outcome.pairs[(before + 1) // 2 :]


def crashing(plan: Plan, **_: Any) -> Measurement:
    if not plan.options:
        raise RunFailed(Outcome.CRASHED, "it crashed")
    return measurement()


def disturbed(plan: Plan, **_: Any) -> Measurement:
    raise RunFailed(Outcome.DISTURBED, "another program took 40 % of the processors")


def changing(plan: Plan, **_: Any) -> Measurement:
    """Each run is on another kernel."""
    return replace(measurement(6000.0, plan.name), fingerprint={"kernel": plan.name})


def logging_on_one_side(plan: Plan, **_: Any) -> Measurement:
    return measurement(6000.0, "with log" if plan.options else "without")


@pytest.mark.parametrize(
    ("measure", "code", "runs"),
    [
        (crashing, "baseline_failed", 2),
        (changing, "not_comparable", 4),
        (logging_on_one_side, "not_comparable", 2),
        (disturbed, "no_whole_pair", 12),
    ],
)
def test_a_gate_without_a_pair_that_counts_ends_with_the_reason(
    measure: Callable[..., Measurement], code: str, runs: int, settings: Any
) -> None:
    settings.DISTURBED_RUN_RETRIES = 0
    study = run_to_the_end(gate(), measure)
    assert (study.state, study.reason_code) == (StudyState.FAILED, code)
    assert not GateVerdict.objects.exists()
    assert study.slots.count() == runs


def test_a_recommendation_and_a_stored_config_can_be_named() -> None:
    def fast(plan: Plan, **_: Any) -> Measurement:
        return measurement(7200.0 if plan.options else 6000.0)

    values: dict[str, Any] = {"template": "compare", "configs": [CHANGED], "blocks": 2}
    study = run_to_the_end(create_study(StudyRequest(name="production", **values)), fast)
    assert study.recommendations.get().candidate.name == "changed"
    knobs = study.recommendations.get().candidate.config
    for stored in ("production", f"study:{study.pk}", knobs.hash[:12], knobs.hash):
        found = gate(GateSide(stored="default"), baseline=GateSide(stored=stored))
        assert found.candidates.get(is_baseline=True).config == knobs
    for nothing in ("study:99999", "staging", "abcdef0123"):
        with pytest.raises(BadRequest, match="there is no config") as refused:
            gate(baseline=GateSide(stored=nothing))
        assert refused.value.field == "baseline.stored"


def test_knobs_change_the_candidates_config_or_else_the_baselines() -> None:
    other = {"innodb_buffer_pool_instances": "2"}
    side = GateSide(knobs={"innodb_io_capacity": "7000"} | other)
    found = gate(side, baseline=GateSide(config=CHANGED, knobs={"innodb_io_capacity_max": "9000"}))
    baseline, candidate = found.candidates.order_by("position")
    assert baseline.config.knobs == {
        "innodb_io_capacity": "5000",
        "innodb_io_capacity_max": "9000",
    }
    assert candidate.config.knobs == {
        "innodb_io_capacity": "7000",
        "innodb_io_capacity_max": "9000",
        **other,
    }
    assert candidate.name.startswith("changed with innodb_io_capacity_max = 9000, innodb_io_capac")
    assert {"innodb_io_capacity", *other} <= {note["name"] for note in candidate.notes}
    alone = gate(GateSide(stored="default", knobs=other), baseline=GateSide(config=CHANGED))
    assert alone.candidates.get(is_baseline=False).config.knobs == other
    for knobs in ({"datadir": "/tmp"}, {"innodb_flush_log_at_trx_commit": "2"}, {"x\ny": "1"}):
        with pytest.raises(InvalidConfig, match="candidate: "):
            gate(GateSide(knobs=knobs))


def test_a_gate_that_is_concluded_ends_with_the_pairs_that_it_has() -> None:
    study = gate(max_pairs=100)
    begin(study)
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING
    for _ in range(2):
        run = Run.objects.filter(state=RunState.QUEUED).order_by("slot__order")[0]
        execute_run(run.pk, measure=measuring())
    conclude_study(study)
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED
    assert study.gate_verdict.verdict == "undecided"
    assert study.slots.count() == 2
