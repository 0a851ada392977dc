"""Numbers as people read them."""

from __future__ import annotations

import pytest

from advisor.wording import formatting

NB = formatting.NARROW


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, formatting.ABSENT),
        (12345.6, "12,346"),
        (123.4, "123"),
        (12.345, "12.3"),
        (0.123, "0.12"),
        (0, "0.00"),
    ],
)
def test_significant(value: float | None, text: str) -> None:
    assert formatting.significant(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.123, f"+12.3{NB}%"),
        (0.9, f"{formatting.MINUS}10.0{NB}%"),
        (1.0, f"±0.0{NB}%"),
        (0.9999, f"±0.0{NB}%"),
        (11.0, f"+1,000.0{NB}%"),
        (None, formatting.ABSENT),
    ],
)
def test_percent_change(ratio: float | None, text: str) -> None:
    assert formatting.percent_change(ratio) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, f"0{NB}s"),
        (59.4, f"59{NB}s"),
        (60, f"1{NB}min"),
        (200, f"3{NB}min 20{NB}s"),
        (7500, f"2{NB}h 5{NB}min"),
        (None, formatting.ABSENT),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, f"10{NB}s"), (44, f"40{NB}s"), (842, f"14{NB}min"), (-5, f"10{NB}s")],
)
def test_rough_duration(seconds: float, text: str) -> None:
    assert formatting.rough_duration(seconds) == text


def test_megacycles_and_bytes() -> None:
    assert formatting.megacycles(28_640_000) == "28.6"
    assert formatting.megacycles(None) == formatting.ABSENT
    assert formatting.kilobytes(41_300) == "41.3"
    assert formatting.kilobytes(None) == formatting.ABSENT
    assert formatting.byte_size(41_300) == f"41.3{NB}kB"
    assert formatting.byte_size(512) == f"512{NB}B"
    assert formatting.byte_size(7e12) == f"7.0{NB}TB"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.121, 1.354, f"+12.1 to +35.4{NB}%"),
        (0.9, 1.0, f"{formatting.MINUS}10.0 to ±0.0{NB}%"),
        (0.0, float("inf"), f"{formatting.MINUS}100.0 to >900{NB}%"),
        (11.4, 11.6, f">900{NB}%"),
    ],
)
def test_change_range(low: float, high: float, text: str) -> None:
    assert formatting.change_range(low, high) == text


@pytest.mark.parametrize(
    ("confidence", "text"),
    [(0.95, f"95{NB}%"), (0.96, f"96{NB}%"), (0.9875, f"98.8{NB}%"), (None, formatting.ABSENT)],
)
def test_confidence_text(confidence: float | None, text: str) -> None:
    assert formatting.confidence_text(confidence) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.042, f"4.2{NB}%"), (None, formatting.ABSENT), (1e300, f">1,000{NB}%")],
)
def test_share(value: float | None, text: str) -> None:
    assert formatting.share(value) == text


def test_a_sign_stays_on_the_line_of_its_number() -> None:
    text = (
        "a completes 3.0 % more (95 % interval +1.0 to +5.0 %), p95 12 ms, 3 blocks, a % b, 2 GB"
    )
    assert formatting.unbroken(text).replace(NB, "_") == (
        "a completes 3.0_% more (95_% interval +1.0 to +5.0_%), p95 12_ms, 3 blocks, a % b, 2_GB"
    )
    text = formatting.unbroken(
        "throughput -10.3 % (-12.1 % to -7.1 %; -4 to -3 %), name-1 -2 to 3, sort -3"
    )
    assert text.replace(NB, "_").replace(formatting.MINUS, "~") == (
        "throughput ~10.3_% (~12.1_% to ~7.1_%; ~4 to ~3_%), name-1 -2 to 3, sort -3"
    )


def test_names_that_are_alike_at_both_ends_are_told_apart() -> None:
    begin, end = "innodb-flush-neighbors-off-with-", "-and-redo-of-16-gb-on-nvme"
    names = [f"{begin}io-capacity-{number}{end}" for number in ("200", "2000")]
    assert len({formatting.shortened(name, 28) for name in names}) == 1
    assert formatting.kept_apart(["short", *names], 28) == [
        "short",
        "…-200-and-redo-of-16-gb-on-…",
        "…-2000-and-redo-of-16-gb-on…",
    ]
    usual = ["a" * 30, "b" * 30]
    assert formatting.kept_apart(usual, 28) == [formatting.shortened(name, 28) for name in usual]
