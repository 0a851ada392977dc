"""Every figure of a run has its column: none is dropped on the way."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from benchmarks.jobs.runs import columns_of
from benchmarks.measurement.result import BytesSource, Measurement, Metrics
from benchmarks.models import Run, Sample
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.disturbance import Disturbance, Kind
from benchmarks.telemetry.usage import SAMPLE_COLUMNS, USAGE_FIGURES

COLUMNS = {field.name for field in Run._meta.concrete_fields}
FIGURES: dict[str, Any] = {
    field.name: float(number) for number, field in enumerate(fields(Metrics), start=1)
}
SEEN: dict[str, Any] = {
    "samples": [dict.fromkeys(SAMPLE_COLUMNS)],
    "variables": {"log_bin": "ON"},
    "fingerprint": {"kernel": "6.1"},
    "comparability_key": "k",
    "driver_version": "1",
    "step_seconds": {"measuring": 1.0},
    "log_tail": "ready",
}


def measured() -> Measurement:
    figures = FIGURES | {"bytes_written_source": BytesSource.DEVICE}
    return Measurement(
        **SEEN,
        metrics=Metrics(**figures),
        redo_mb_s=7.5,
        trend_pct=2.0,
        still_warming=True,
    )


def test_every_value_of_a_run_has_a_column() -> None:
    values = columns_of(measured())
    assert values.pop("samples") == SEEN["samples"]
    assert values.keys() <= COLUMNS
    for name in SEEN.keys() - {"samples"}:
        assert values[name] == SEEN[name]


def test_a_measurement_keeps_all_of_its_figures() -> None:
    values = columns_of(measured())
    assert values.items() >= (FIGURES | {"bytes_written_source": "device"}).items()
    assert (values["state"], values["trend_pct"], values["still_warming"]) == ("ok", 2.0, True)
    assert values["redo_mb_s"] == 7.5


def test_without_a_measurement_there_is_no_figure() -> None:
    stolen = [Disturbance(Kind.STEAL, 9.0, 5.0, "%", "stolen")]
    seen = Measurement(**SEEN, outcome=Outcome.DISTURBED, reason="stolen", disturbances=stolen)
    void = columns_of(seen)
    slow: dict[str, Any] = {
        "outcome": Outcome.CUT_SHORT,
        "reason": "slow",
        "throughput_at_most": 60.0,
    }
    cut = columns_of(Measurement(**SEEN, **slow))
    assert not (void.keys() | cut.keys()) & FIGURES.keys()
    assert (void["state"], void["reason"]) == ("disturbed", "stolen")
    assert [found["kind"] for found in void["disturbances"]] == ["steal"]
    assert (cut["state"], cut["reason"], cut["throughput_at_most"]) == ("cut_short", "slow", 60.0)


def test_runs_and_samples_have_the_columns_of_usage() -> None:
    for model in (Run, Sample):
        columns = {field.name: field for field in model._meta.concrete_fields}
        assert [columns[name].get_internal_type() for name in USAGE_FIGURES] == (
            ["FloatField"] * len(USAGE_FIGURES)
        )
        assert all(columns[name].null for name in USAGE_FIGURES)
    assert set(SAMPLE_COLUMNS) <= {field.name for field in Sample._meta.concrete_fields}
