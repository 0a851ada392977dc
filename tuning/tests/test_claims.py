"""A study confirms or contradicts what its template's source found, or says it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from tuning.statistics.analysis import analyse
from tuning.statistics.data import Metric, Observation
from tuning.study_templates.claims import (
    Best,
    Claim,
    Faster,
    Knee,
    NoDifference,
    Statement,
)
from tuning.study_templates.evaluation import ClaimBoard, Finding, FindingKind, evaluate

# What repeated runs of one config are multiplied by: quiet, and as a shared host has it.
QUIET = (1.004, 0.997, 1.001, 0.998, 1.003, 0.996)
NOISY = (1.30, 0.75, 1.10, 0.85, 1.25, 0.80)


def place(
    throughput: Mapping[str, float],
    *,
    kind: str = "nvme",
    noise: tuple[float, ...] = QUIET,
    connections: int = 16,
    blocks: int = 6,
) -> ClaimBoard:
    """A board whose first config is the baseline; p95 falls as throughput rises."""
    names = list(throughput)
    runs = [
        Observation(
            candidate=name,
            block=block + 1,
            outcome="ok",
            tpmP=(tpmP := level * noise[(block + 2 * row + connections // 50) % len(noise)]),
            p95_ms=1e6 / tpmP,
            server_path_length=1e9 / tpmP,
            replicate=int(row == 1),
        )
        for block in range(blocks)
        for row, (name, level) in enumerate(
            [(names[0], throughput[names[0]]), *throughput.items()]
        )
    ]
    analyses = {metric: analyse(runs, names[0], names, metric) for metric in Metric}
    return ClaimBoard(f"disk at /{kind}", kind, connections, analyses, runs)


def claim(statement: Statement, devices: tuple[str, ...] = ()) -> Claim:
    kind = {Faster: "faster", Best: "best", NoDifference: "no_difference", Knee: "knee"}
    content = {
        "says": "A says so.",
        "source": "A paper, Figure 1",
        "published": "+55 %",
        kind[type(statement)]: statement,
    }
    return TypeAdapter(Claim).validate_python(content | ({"devices": devices} if devices else {}))


def only(statement: Statement, where: ClaimBoard) -> Finding:
    [finding] = evaluate(claim(statement), [where])
    return finding


@pytest.mark.parametrize(
    ("tpmP", "by", "noise", "kind"),
    [
        (1500, 0.05, QUIET, FindingKind.CONFIRMED),
        (1500, 0.8, QUIET, FindingKind.CONTRADICTED),
        (1000, 0.05, QUIET, FindingKind.CONTRADICTED),
        (1000, 0.0, QUIET, FindingKind.NOT_DECIDED),
        (700, 0.0, QUIET, FindingKind.CONTRADICTED),
        (1100, 0.05, NOISY, FindingKind.NOT_DECIDED),
    ],
)
def test_faster(tpmP: float, by: float, noise: tuple[float, ...], kind: FindingKind) -> None:
    where = place({"base": 1000, "new": tpmP}, noise=noise)
    finding = only(Faster("new", "base", by), where)
    assert finding.kind is kind
    assert (finding.device, finding.device_kind, finding.connections) == (
        "disk at /nvme",
        "nvme",
        16,
    )
    assert finding.ratio is not None
    assert finding.interval is not None
    assert finding.interval.low < finding.ratio < finding.interval.high


def test_the_sentence_has_the_interval_and_stands_beside_the_published_figure() -> None:
    finding = only(Faster("new", "base", 0.05), place({"base": 1000, "new": 1500}))
    assert finding.sentence.startswith("Confirmed here: new completes ")
    assert "more New-Orders per minute than base (95 % interval +" in finding.sentence
    assert finding.sentence.endswith("the claim is more than 5 %.")
    assert finding.published == "A paper, Figure 1: +55 %"


def test_two_candidates_that_are_not_the_baseline_are_compared_with_each_other() -> None:
    where = place({"base": 1000, "a": 1500, "b": 1100})
    finding = only(Faster("a", "b", 0.05), where)
    assert finding.kind is FindingKind.CONFIRMED
    assert finding.ratio == pytest.approx(1500 / 1100, rel=0.02)
    turned = only(Faster("b", "a"), where)
    assert turned.kind is FindingKind.CONTRADICTED
    assert turned.ratio == pytest.approx(1100 / 1500, rel=0.02)


@pytest.mark.parametrize("metric", [Metric.P95, Metric.SERVER_PATH_LENGTH])
def test_lower_is_better_for_times_and_cycles(metric: Metric) -> None:
    finding = only(Faster("new", "base", 0.05, metric), place({"base": 1000, "new": 1500}))
    assert finding.kind is FindingKind.CONFIRMED
    assert finding.ratio == pytest.approx(1 / 1.5, rel=0.02)
    assert ("shorter than base" if metric is Metric.P95 else "fewer CPU") in finding.sentence


@pytest.mark.parametrize(
    ("tpmP", "noise", "kind"),
    [
        (1010, QUIET, FindingKind.CONFIRMED),
        (1300, QUIET, FindingKind.CONTRADICTED),
        (700, QUIET, FindingKind.CONTRADICTED),
        (1010, NOISY, FindingKind.NOT_DECIDED),
        (1050, QUIET, FindingKind.NOT_DECIDED),
    ],
)
def test_no_difference(tpmP: float, noise: tuple[float, ...], kind: FindingKind) -> None:
    where = place({"base": 1000, "new": tpmP}, noise=noise)
    assert only(NoDifference("new", "base", 0.05), where).kind is kind


@pytest.mark.parametrize(
    ("levels", "noise", "kind", "rival"),
    [
        ({"base": 1000, "a": 1500, "b": 1200}, QUIET, FindingKind.CONFIRMED, "b"),
        ({"base": 1000, "a": 1500, "b": 1900}, QUIET, FindingKind.CONTRADICTED, "b"),
        ({"base": 1000, "a": 1500, "b": 1500}, QUIET, FindingKind.NOT_DECIDED, "b"),
        ({"base": 1000, "a": 1100, "b": 1050}, NOISY, FindingKind.NOT_DECIDED, "b"),
    ],
)
def test_best(
    levels: dict[str, float], noise: tuple[float, ...], kind: FindingKind, rival: str
) -> None:
    finding = only(Best("a"), place(levels, noise=noise))
    assert finding.kind is kind
    assert f"than {rival} (" in finding.sentence


def test_best_among_some_does_not_ask_for_the_others() -> None:
    where = place({"base": 1000, "a": 1500, "b": 1900})
    assert only(Best("a", ("base",)), where).kind is FindingKind.CONFIRMED


def by_connections(
    levels: Mapping[int, float], noise: tuple[float, ...] = QUIET
) -> list[ClaimBoard]:
    return [
        place({"base": 1000, "a": level}, connections=count, noise=noise)
        for count, level in levels.items()
    ]


@pytest.mark.parametrize(
    ("levels", "noise", "kind"),
    [
        ({50: 1100, 100: 1365, 200: 1391}, QUIET, FindingKind.CONFIRMED),
        ({50: 1100, 100: 1365, 200: 2200}, QUIET, FindingKind.CONTRADICTED),
        ({50: 1100, 100: 1365, 200: 1391}, NOISY, FindingKind.NOT_DECIDED),
        ({150: 1100, 200: 1365}, QUIET, FindingKind.NOT_DECIDED),
    ],
)
def test_knee(levels: dict[int, float], noise: tuple[float, ...], kind: FindingKind) -> None:
    [finding] = evaluate(claim(Knee("a")), by_connections(levels, noise))
    assert finding.kind is kind
    assert finding.connections is None
    assert finding.device == "disk at /nvme"
    if kind is FindingKind.CONFIRMED:
        assert "200 connections complete 1." in finding.sentence
        assert "than 100 (95 % interval" in finding.sentence
    elif 50 not in levels:
        assert "no figures with up to 50 % of the connections" in finding.sentence


def test_a_claim_about_other_devices_is_not_decided_here() -> None:
    [finding] = evaluate(
        claim(Faster("new", "base"), ("hdd", "sata-ssd")), [place({"base": 1, "new": 2})]
    )
    assert finding.kind is FindingKind.NOT_DECIDED
    assert finding.sentence == (
        "Not decided: the study measured no device of kind HDD or SATA SSD; it ran on NVMe."
    )


def test_each_device_that_a_claim_is_about_gets_its_own_finding() -> None:
    fast, slow = place({"base": 10, "new": 20}), place({"base": 20, "new": 10}, kind="hdd")
    found = evaluate(claim(Faster("new", "base")), [fast, slow])
    assert [one.kind for one in found] == [FindingKind.CONFIRMED, FindingKind.CONTRADICTED]
    assert [one.device_kind for one in found] == ["nvme", "hdd"]
    assert [
        one.device_kind for one in evaluate(claim(Faster("new", "base"), ("hdd",)), [fast, slow])
    ] == ["hdd"]


def test_without_figures_nothing_is_decided() -> None:
    [finding] = evaluate(claim(Faster("lost", "base")), [place({"base": 10, "new": 20})])
    assert finding.sentence == ("Not decided: there are no comparable figures of lost and base.")
    [finding] = evaluate(claim(Faster("new", "base")), [])
    assert finding.kind is FindingKind.NOT_DECIDED


def test_boards_of_other_durability_classes_say_nothing() -> None:
    ours, other = place({"base": 10, "new": 20}), place({"base": 10, "unsafe": 90})
    assert len(evaluate(claim(Faster("new", "base")), [ours, other])) == 1


def test_a_single_block_decides_nothing() -> None:
    finding = only(Faster("new", "base"), place({"base": 10, "new": 20}, blocks=1))
    assert finding.kind is FindingKind.NOT_DECIDED
    assert "too few runs for an interval" in finding.sentence


def test_a_candidate_that_was_measured_under_another_name() -> None:
    where = replace(place({"base": 10, "new": 20}), same_as={"old": "base"})
    assert only(Faster("new", "old", 0.05), where).kind is FindingKind.CONFIRMED
    assert only(NoDifference("old", "base"), where).kind is FindingKind.CONFIRMED
    same = only(Faster("old", "base"), where)
    assert same.kind is FindingKind.NOT_DECIDED
    assert "are the same config on this server" in same.sentence


def test_claims_are_read_with_their_defaults() -> None:
    def read(**content: object) -> Claim:
        words = {"says": "It is so, again.", "source": "A paper, once"}
        return TypeAdapter(Claim).validate_python({**words, **content})

    faster = read(faster={"candidate": "a", "than": "b"})
    assert faster.statement == Faster("a", "b", 0.0, Metric.TPMP)
    assert (faster.published, faster.devices, faster.needs_seeks) == ("", (), False)
    best = read(devices=["hdd"], best={"candidate": "a", "metric": "p95_ms"})
    assert best.devices == ("hdd",)
    assert best.statement == Best("a", metric=Metric.P95)
    assert read(knee={"candidate": "a"}).statement == Knee("a", 0.5, 0.05)


def test_the_difference_to_the_baseline_is_the_one_of_the_ranking() -> None:
    for metric, analysis in place({"base": 1000, "a": 1500, "b": 1100}).analyses.items():
        standing = analysis.standing("a")
        found = analysis.between("a", "base")
        assert standing.interval is not None
        assert found is not None, metric
        assert found.ratio == pytest.approx(standing.ratio)
        assert found.interval is not None
        assert (found.interval.low, found.interval.high) == pytest.approx(
            (standing.interval.low, standing.interval.high)
        )
        turned = analysis.between("base", "a")
        assert turned is not None
        assert turned.ratio == pytest.approx(1 / found.ratio)
        assert analysis.between("a", "nobody") is None


@pytest.mark.parametrize(
    ("statement", "claimed"),
    [
        (Faster("new", "base", 0.05), (1.05, None)),
        (Faster("new", "base", 0.25, Metric.P95), (None, 0.8)),
        (Best("new", ("base",)), (1.0, None)),
        (Best("new", ("base",), Metric.SERVER_PATH_LENGTH), (None, 1.0)),
        (NoDifference("new", "base", 0.25), (0.8, 1.25)),
    ],
)
@pytest.mark.parametrize("tpmP", [600, 1003, 1500])
def test_a_claim_is_confirmed_just_where_its_range_says(
    statement: Faster | Best | NoDifference,
    claimed: tuple[float | None, float | None],
    tpmP: float,
) -> None:
    assert statement.claimed == pytest.approx(claimed)
    finding = only(statement, place({"base": 1000, "new": tpmP}))
    assert finding.interval is not None
    low, high = claimed
    inside = (low is None or finding.interval.low > low) and (
        high is None or finding.interval.high < high
    )
    assert (finding.kind is FindingKind.CONFIRMED) == inside


def test_a_knee_claims_less_than_so_much() -> None:
    low, high = Knee("a", within=0.1).claimed
    assert low is None
    assert high == pytest.approx(1.1)


def test_devices_of_one_name_are_distinguished_by_their_id() -> None:
    near = by_connections({100: 1365, 200: 1391})
    far = [replace(one, device_id=9) for one in by_connections({100: 1365, 200: 2200})]
    found = evaluate(claim(Knee("a")), [*near, *far])
    assert [(one.device_id, one.kind) for one in found] == [
        (0, FindingKind.CONFIRMED),
        (9, FindingKind.CONTRADICTED),
    ]
