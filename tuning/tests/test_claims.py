"""A study confirms or contradicts what its template's source found, or says it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from pydantic import TypeAdapter, ValidationError

from tuning.statistics.analysis import analyse
from tuning.statistics.data import Metric, Observation
from tuning.statistics.tests.helpers import bounds
from tuning.study_templates.evaluation import ClaimBoard, Finding, FindingKind, evaluate
from tuning.study_templates.loader import Claim, Ratio

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
            throughput=(done := level * noise[(block + 2 * row + connections // 50) % len(noise)]),
            p95_ms=1e6 / done,
            server_path_length=1e9 / done,
            replicate=int(row == 1),
        )
        for block in range(blocks)
        for row, (name, level) in enumerate(
            [(names[0], throughput[names[0]]), *throughput.items()]
        )
    ]
    analyses = {metric: analyse(runs, names[0], names, metric) for metric in Metric}
    return ClaimBoard(0, kind, connections, analyses, runs)


def claim(ratio: Ratio, devices: tuple[str, ...] = ()) -> Claim:
    content = {
        "says": "A says so.",
        "source": "A paper, Figure 1",
        "published": "+55 %",
        "ratio": ratio,
    }
    return TypeAdapter(Claim).validate_python(content | ({"devices": devices} if devices else {}))


def faster(of: str, *to: str, by: float = 0.0) -> Ratio:
    return Ratio(of, to, above=1 + by)


def only(ratio: Ratio, where: ClaimBoard) -> Finding:
    [finding] = evaluate(claim(ratio), [where])
    return finding


@pytest.mark.parametrize(
    ("throughput", "by", "noise", "kind"),
    [
        (1500, 0.05, QUIET, FindingKind.CONFIRMED),
        (1500, 0.8, QUIET, FindingKind.CONTRADICTED),
        (1000, 0.05, QUIET, FindingKind.CONTRADICTED),
        (1000, 0.0, QUIET, FindingKind.NOT_DECIDED),
        (700, 0.0, QUIET, FindingKind.CONTRADICTED),
        (1100, 0.05, NOISY, FindingKind.NOT_DECIDED),
    ],
)
def test_more_than_so_much(
    throughput: float, by: float, noise: tuple[float, ...], kind: FindingKind
) -> None:
    finding = only(
        faster("new", "base", by=by), place({"base": 1000, "new": throughput}, noise=noise)
    )
    assert finding.kind is kind
    assert (finding.device_kind, finding.connections) == ("nvme", 16)
    low, ratio, high = bounds(finding.estimate)
    assert low < ratio < high


def test_the_sentence_has_the_interval_and_the_claim() -> None:
    finding = only(faster("new", "base", by=0.05), place({"base": 1000, "new": 1500}))
    assert finding.sentence.startswith("Confirmed here: new completes ")
    assert "more transactions per minute than base (95 % interval +" in finding.sentence
    assert finding.sentence.endswith("the claim is more than +5 %.")


def test_two_candidates_that_are_not_the_baseline_are_compared_with_each_other() -> None:
    where = place({"base": 1000, "a": 1500, "b": 1100})
    finding = only(faster("a", "b", by=0.05), where)
    assert finding.kind is FindingKind.CONFIRMED
    assert bounds(finding.estimate)[1] == pytest.approx(1500 / 1100, rel=0.02)
    turned = only(faster("b", "a"), where)
    assert turned.kind is FindingKind.CONTRADICTED
    assert bounds(turned.estimate)[1] == pytest.approx(1100 / 1500, rel=0.02)


@pytest.mark.parametrize("metric", [Metric.P95, Metric.SERVER_PATH_LENGTH])
def test_lower_is_better_for_times_and_cycles(metric: Metric) -> None:
    ratio = Ratio("new", ("base",), below=0.95, metric=metric)
    finding = only(ratio, place({"base": 1000, "new": 1500}))
    assert finding.kind is FindingKind.CONFIRMED
    assert bounds(finding.estimate)[1] == pytest.approx(1 / 1.5, rel=0.02)
    assert ("shorter than base" if metric is Metric.P95 else "fewer CPU") in finding.sentence


SAME = Ratio("new", ("base",), above=0.95, below=1.05)


@pytest.mark.parametrize(
    ("throughput", "noise", "kind"),
    [
        (1010, QUIET, FindingKind.CONFIRMED),
        (1300, QUIET, FindingKind.CONTRADICTED),
        (700, QUIET, FindingKind.CONTRADICTED),
        (1010, NOISY, FindingKind.NOT_DECIDED),
        (1050, QUIET, FindingKind.NOT_DECIDED),
    ],
)
def test_no_difference(throughput: float, noise: tuple[float, ...], kind: FindingKind) -> None:
    assert only(SAME, place({"base": 1000, "new": throughput}, noise=noise)).kind is kind


@pytest.mark.parametrize(
    ("levels", "noise", "kind"),
    [
        ({"base": 1000, "a": 1500, "b": 1200}, QUIET, FindingKind.CONFIRMED),
        ({"base": 1000, "a": 1500, "b": 1900}, QUIET, FindingKind.CONTRADICTED),
        ({"base": 1000, "a": 1500, "b": 1500}, QUIET, FindingKind.NOT_DECIDED),
        ({"base": 1000, "a": 1100, "b": 1050}, NOISY, FindingKind.NOT_DECIDED),
    ],
)
def test_a_claim_about_several_configs_is_about_each(
    levels: dict[str, float], noise: tuple[float, ...], kind: FindingKind
) -> None:
    finding = only(faster("a", "base", "b"), place(levels, noise=noise))
    assert finding.kind is kind
    if kind in (FindingKind.CONTRADICTED, FindingKind.NOT_DECIDED) and noise is QUIET:
        assert "than b (" in finding.sentence


def by_connections(
    levels: Mapping[int, float], noise: tuple[float, ...] = QUIET
) -> list[ClaimBoard]:
    return [
        place({"base": 1000, "a": level}, connections=count, noise=noise)
        for count, level in levels.items()
    ]


KNEE = Ratio("a", connections=0.5, below=1.05)


@pytest.mark.parametrize(
    ("levels", "noise", "kind"),
    [
        ({50: 1100, 100: 1365, 200: 1391}, QUIET, FindingKind.CONFIRMED),
        ({50: 1100, 100: 1365, 200: 2200}, QUIET, FindingKind.CONTRADICTED),
        ({50: 1100, 100: 1365, 200: 1391}, NOISY, FindingKind.NOT_DECIDED),
        ({150: 1100, 200: 1365}, QUIET, FindingKind.NOT_DECIDED),
    ],
)
def test_a_ratio_between_numbers_of_connections(
    levels: dict[int, float], noise: tuple[float, ...], kind: FindingKind
) -> None:
    [finding] = evaluate(claim(KNEE), by_connections(levels, noise))
    assert finding.kind is kind
    assert finding.connections is None
    assert finding.device_kind == "nvme"
    if kind is FindingKind.CONFIRMED:
        assert "a with 200 connections completes 1." in finding.sentence
        assert "than with 100 (95 % interval" in finding.sentence
    elif 50 not in levels:
        assert "no figures with up to 50 % of 200" in finding.sentence


def test_a_claim_about_other_devices_is_not_decided_here() -> None:
    [finding] = evaluate(
        claim(faster("new", "base"), ("hdd", "sata-ssd")), [place({"base": 1, "new": 2})]
    )
    assert finding.kind is FindingKind.NOT_DECIDED
    assert finding.sentence == (
        "Not decided: the study measured no device of kind HDD or SATA SSD; it ran on NVMe."
    )


def test_each_device_that_a_claim_is_about_gets_its_own_finding() -> None:
    fast, slow = place({"base": 10, "new": 20}), place({"base": 20, "new": 10}, kind="hdd")
    found = evaluate(claim(faster("new", "base")), [fast, slow])
    assert [one.kind for one in found] == [FindingKind.CONFIRMED, FindingKind.CONTRADICTED]
    assert [one.device_kind for one in found] == ["nvme", "hdd"]
    assert [
        one.device_kind for one in evaluate(claim(faster("new", "base"), ("hdd",)), [fast, slow])
    ] == ["hdd"]


def test_without_figures_nothing_is_decided() -> None:
    [finding] = evaluate(claim(faster("lost", "base")), [place({"base": 10, "new": 20})])
    assert finding.sentence == ("Not decided: there are no comparable figures of lost and base.")
    [finding] = evaluate(claim(faster("new", "base")), [])
    assert finding.kind is FindingKind.NOT_DECIDED


def test_boards_of_other_durability_classes_say_nothing() -> None:
    ours, other = place({"base": 10, "new": 20}), place({"base": 10, "unsafe": 90})
    assert len(evaluate(claim(faster("new", "base")), [ours, other])) == 1


def test_a_single_block_decides_nothing() -> None:
    finding = only(faster("new", "base"), place({"base": 10, "new": 20}, blocks=1))
    assert finding.kind is FindingKind.NOT_DECIDED
    assert "too few runs for an interval" in finding.sentence


def test_a_candidate_that_was_measured_under_another_name() -> None:
    where = replace(place({"base": 10, "new": 20}), same_as={"old": "base"})
    assert only(faster("new", "old", by=0.05), where).kind is FindingKind.CONFIRMED
    assert (
        only(Ratio("old", ("base",), above=0.95, below=1.05), where).kind is FindingKind.CONFIRMED
    )
    same = only(faster("old", "base"), where)
    assert same.kind is FindingKind.NOT_DECIDED
    assert "are the same config on this server" in same.sentence


@pytest.mark.parametrize(
    "content",
    [
        {"of": "a", "to": "b"},
        {"of": "a", "above": 1.05},
        {"of": "a", "to": "b", "connections": 0.5, "above": 1.05},
        {"of": "a", "to": "b", "above": 1.05, "below": 0.95},
        {"of": "a", "to": ["b", "b"], "above": 1},
    ],
)
def test_a_ratio_without_a_range_or_with_two_meanings_is_refused(content: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Ratio).validate_python(content)


def test_the_difference_to_the_baseline_is_the_one_of_the_ranking() -> None:
    for metric, analysis in place({"base": 1000, "a": 1500, "b": 1100}).analyses.items():
        found = bounds(analysis.between("a", "base"))
        assert found == pytest.approx(bounds(analysis.standing("a").estimate)), metric
        assert bounds(analysis.between("base", "a"))[1] == pytest.approx(1 / found[1])
        assert analysis.between("a", "nobody") is None


def test_devices_of_one_name_are_distinguished_by_their_id() -> None:
    near = by_connections({100: 1365, 200: 1391})
    far = [replace(one, device_id=9) for one in by_connections({100: 1365, 200: 2200})]
    found = evaluate(claim(KNEE), [*near, *far])
    assert [(one.device_id, one.kind) for one in found] == [
        (0, FindingKind.CONFIRMED),
        (9, FindingKind.CONTRADICTED),
    ]
