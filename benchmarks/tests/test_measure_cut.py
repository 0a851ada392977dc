"""Real runs that are ended early, and the live counts that they are judged by."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import psutil
import pytest

from benchmarks.errors import RunFailed
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.outcomes import Cut, Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.telemetry.live import LiveSecond
from benchmarks.telemetry.write_debt import Debt
from benchmarks.tests.conftest import NOTHING
from benchmarks.tests.quick import QUICK, unhurried

pytestmark = [pytest.mark.server, pytest.mark.slow]

# What tuning holds against a run: half of what it is compared with, from the third second on.
MIN_SECONDS = 3


@pytest.fixture
def plan(any_server: ServerBinary, plan_on: Callable[[ServerBinary], Plan]) -> Plan:
    return plan_on(any_server)


def run(plan: Plan) -> Measurement:
    return measure(plan, report=lambda _: None, should_stop=lambda: False)


def slow(plan: Plan) -> Plan:
    """The run on a server that gets little done."""
    load = replace(plan.load, warmup_s=0)
    return replace(plan, load=load, options=unhurried(plan.binary))


def under_half_of(rate: float) -> Callable[[Sequence[int]], Cut | None]:
    def rule(counts: Sequence[int]) -> Cut | None:
        if len(counts) < MIN_SECONDS or sum(counts) / len(counts) >= rate / 2:
            return None
        return Cut(f"{sum(counts)} commits in {len(counts)} s", 60.0)

    return rule


def test_commits_and_write_debt_are_counted_beside_the_new_orders(plan: Plan) -> None:
    """A host that stops moves commits out of the interval, but not three times in a row."""
    plan = replace(plan, load=replace(plan.load, warmup_s=0, measure_s=3), options=QUICK)
    seen = []
    for _ in range(3):
        found = measure(plan, report=lambda _: None, should_stop=lambda: False)
        owes = found.write_debt
        assert owes is not None
        assert owes.missing == {}
        assert owes.fills is not None
        assert 0 < owes.fills < 1
        assert owes.put_off.keys() == set(Debt)
        rows = [row for row in found.samples if (row["second"] or 0) >= 0]
        pairs = [(row["commits"] or 0, row["completed"] or 0) for row in rows]
        assert found.metrics is not None
        if len(pairs) == 3 and commits_agree(pairs, found.metrics.completed):
            return
        seen.append(pairs)
    pytest.fail(f"commits and New-Orders of each second: {seen}")


def commits_agree(pairs: Sequence[tuple[float, float]], completed: int) -> bool:
    # 0.99 New-Orders, for 1 % is rolled back, a Payment and a tenth of each other transaction, of
    # which Delivery commits ten times.
    scatter = max(0.05, 3 / completed**0.5)  # the more, the fewer a busy host completes
    total = sum(commits for commits, _ in pairs)
    return total / completed == pytest.approx(3.19, rel=scatter) and all(
        # Few in a second, as on a busy host, scatter by more than a share of them.
        commits == pytest.approx(3.19 * count, abs=3.19 * max(0.4 * count, 4 * count**0.5))
        for commits, count in pairs
        if count
    )


def test_a_run_that_is_too_slow_ends_after_its_first_seconds(plan: Plan) -> None:
    steps: list[str] = []
    begun: list[float] = []

    def report(step: str) -> None:
        steps.append(step)
        begun.append(time.monotonic())

    def keep(found: Measurement) -> None:
        kept.append(found)
        assert "stopping the server" not in steps

    kept: list[Measurement] = []
    too_slow = replace(slow(plan), cut_rule=under_half_of(1_000_000.0))
    cut = measure(too_slow, report=report, should_stop=lambda: False, keep=keep)
    assert kept == [cut]
    assert cut.outcome is Outcome.CUT_SHORT
    assert cut.throughput_at_most == 60.0
    assert "commits in 3 s" in cut.reason
    measuring = begun[steps.index("measuring")]
    stopping = begun[steps.index("stopping the server")]
    assert MIN_SECONDS <= stopping - measuring < MIN_SECONDS + 4
    assert steps[-1] == "discarding the clone"
    samples = [row for row in cut.samples if (row["second"] or 0) >= 0]
    assert [row["second"] for row in samples[:3]] == [0, 1, 2]
    assert all(row["commits"] for row in samples[:3])
    assert {row["completed"] for row in samples} == {None}
    assert cut.comparability_key
    # Nothing is left: no server, no driver, no file.
    assert not list(plan.layout.run_dir("").iterdir())
    children = psutil.Process().children(recursive=True)
    left = [" ".join(child.cmdline()) for child in children]
    assert not [line for line in left if "sysbench" in line or plan.name in line]


@pytest.mark.alone
def test_a_crippled_config_is_distinguished_from_a_sound_one(
    mariadb_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    """The rule that cuts the one short has nothing against the other, in any of its seconds."""
    plan = replace(plan_on(mariadb_binary), options={"log_bin": "ON"})
    heard: list[Sequence[int]] = []

    def listen(counts: Sequence[int]) -> Cut | None:
        heard.append(tuple(counts))
        return None

    # Of its last second or two no reading comes before the end.
    watched: list[list[LiveSecond]] = []
    load = replace(plan.load, measure_s=6)
    sound = replace(plan, load=load, cut_rule=listen, tell_live=watched.append)
    found = measure(sound, report=lambda _: None, should_stop=lambda: False)
    check_that_we_are_no_strangers(found)
    commits = [row["commits"] or 0 for row in found.samples if (row["second"] or 0) >= 0]
    # Whoever watched saw the same work while it was done.
    live = [one.completed for one in watched[-1] if one.second > 0 and one.completed]
    assert sum(live) / len(live) == pytest.approx(sum(commits) / len(commits) / 3.19, rel=0.5)
    assert all(one.cpu_pct is not None for one in watched[-1])
    rule = under_half_of(sum(commits) / len(commits))
    seconds = [len(counts) for counts in heard]
    assert seconds == sorted(set(seconds)), "the rule is asked once after each further second"
    assert seconds[-1] >= MIN_SECONDS
    assert [counts for counts in heard if rule(counts)] == []
    # Each commit waits for a second one, a tenth of a second long; the only connection has none.
    waits = {"binlog_commit_wait_count": "2", "binlog_commit_wait_usec": "100000"}
    crippled = run(replace(plan, options={**plan.options, **waits}, cut_rule=rule))
    assert crippled.outcome is Outcome.CUT_SHORT


def check_that_we_are_no_strangers(found: Measurement) -> None:
    """Server and driver are none to the process that started them, on a host of their own."""
    by_cpu = dict(found.conditions["by_cpu"])  # type: ignore[call-overload]
    # the loader's name is that of the installed server, which is started through it
    assert not [n for n in by_cpu if n.startswith(("mysqld", "mariadbd", "sysbench", "ld-linux"))]
    assert found.conditions["stalled_s"] == 0
    assert "steal: switched off" in found.conditions["unwatched"]  # type: ignore[operator]
    assert found.trend_pct is None  # six seconds are too few


def test_what_disturbs_a_run_that_is_too_slow_voids_it(
    mariadb_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    """It may have been too slow because of that: no bound is taken from it."""
    plan = plan_on(mariadb_binary)
    # Below nothing: a quiet host exceeds that, too.
    limits = replace(NOTHING, foreign_cpu_pct=-1.0)
    too_slow = replace(slow(plan), limits=limits, cut_rule=under_half_of(1_000_000.0))
    found = run(too_slow)
    assert (found.outcome, found.throughput_at_most) == (Outcome.DISTURBED, None)


def test_a_run_that_is_cancelled_is_not_cut_short(
    mariadb_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    plan = plan_on(mariadb_binary)
    begun: list[float] = []

    def report(step: str) -> None:
        if step == "measuring":
            begun.append(time.monotonic())

    def cancelled() -> bool:
        return bool(begun) and time.monotonic() > begun[0] + 2

    too_slow = replace(slow(plan), cut_rule=under_half_of(1_000_000.0))
    with pytest.raises(RunFailed) as ended:
        measure(too_slow, report=report, should_stop=cancelled)
    assert ended.value.outcome is Outcome.CANCELLED
