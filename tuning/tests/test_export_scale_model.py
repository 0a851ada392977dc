"""The files of a scale model: sized back to the real server, with what was measured beside it."""

from __future__ import annotations

import json

import pytest
from jsonschema import validate

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import GIB, MIB
from tuning.export.facts import ExportFacts
from tuning.export.formats import FORMATS, ExportRequest, export
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import GB, MB
from tuning.tests.export_cases import facts, flat, knobs_in
from tuning.tests.test_export import left_out
from tuning.tests.test_export_formats import SCHEMA

POOL, CHUNK, REDO = (
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_chunk_size",
    "innodb_redo_log_capacity",
)
MODEL = ScaleModel(200 * GB, 48 * GB, 10, 550 * MB)
IN_MODEL = 160 * MIB  # 70 % of its memory


def of_model(**changes: object) -> ExportFacts:
    knobs = {POOL: f"{IN_MODEL}", REDO: f"{2 * GIB}", CHUNK: f"{MIB}"}
    shown = {POOL: f"{IN_MODEL}", REDO: f"{2 * GIB}", CHUNK: f"{MIB}"}
    default = {POOL: f"{128 * MIB}", REDO: f"{100 * MIB}"}
    given = {
        "knobs": knobs,
        "candidate_variables": shown,
        "baseline_variables": default,
        "model": MODEL,
    }
    return facts(**{**given, **changes})  # type: ignore[arg-type]


def text_of(given: ExportFacts, name: str = "cnf", **request: object) -> str:
    return export(given, ExportRequest(name, **request)).text  # type: ignore[arg-type]


def test_a_pool_of_70_percent_of_the_model_is_one_of_70_percent_of_the_server() -> None:
    text = text_of(of_model())
    knobs = knobs_in(text)
    assert knobs == {POOL: f"{31 * GIB}", REDO: f"{2 * GIB}"}
    assert int(knobs[POOL]) / (48 * GB) == pytest.approx(IN_MODEL / (240 * MB), abs=0.02)
    said = flat(text)
    assert "measured as 160M in the scale model 1:200, which is 31G here (69 % of 48 GB)" in said
    assert "Scale model 1:200: 48 GB of memory for 200 GB of data" in said
    assert "every figure is from the scale model 1:200" in said
    assert "size it for your own data" not in said
    assert CHUNK not in text


def test_the_default_pool_of_the_model_stands_for_more_on_the_server() -> None:
    for given in (
        of_model(knobs={CHUNK: f"{MIB}"}, candidate_variables={POOL: f"{128 * MIB}"}),
        of_model(knobs={}, candidate_variables={}, candidate="server-default"),
    ):
        text = text_of(given)
        assert knobs_in(text) == {POOL: f"{25 * GIB}"}
        assert "measured as 128M, its default, in the scale model" in flat(text)
        assert "Empty on purpose" not in text


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if name != "diff"])
def test_every_format_has_the_sized_value(name: str) -> None:
    text = text_of(of_model(), name)
    if not name.startswith("rollback"):
        assert f"{31 * GIB}" in text or "31G" in text
    assert CHUNK not in text


def test_every_format_says_what_was_measured_in_the_model() -> None:
    both = "measured as 160M in the scale model 1:200, which is 31G here (69 % of 48 GB)"
    assert both in flat(text_of(of_model(), "sql"))
    assert both in flat(text_of(of_model(), "diff", current=b"[mysqld]\nport = 3306\n"))
    waits = of_model(
        server=ServerTraits(Flavour.MARIADB, (11, 8, 6)),
        knobs={POOL: f"{IN_MODEL}"},
        candidate_variables={POOL: f"{IN_MODEL}"},
        baseline_variables={"innodb_buffer_pool_size_max": f"{GIB}"},
    )
    said = flat(text_of(waits, "sql"))
    later = said.split("Not set by this script:")[1]
    assert "innodb_buffer_pool_size = 31G: " in later
    assert both in later


def test_every_file_says_what_the_baseline_stands_for() -> None:
    said = "server-default; its buffer pool of 128M in the model stands for 25G on"
    for name in ("cnf", "sql", "rollback-cnf"):
        assert said in flat(text_of(of_model(), name))
    assert "Baseline:" not in text_of(facts(baseline_variables={POOL: f"{128 * MIB}"}))


def test_a_line_that_was_left_out_is_listed_with_both_values() -> None:
    without = of_model(
        knobs={CHUNK: f"{MIB}"},
        candidate_variables={POOL: f"{128 * MIB}"},
        ablation=[left_out(POOL, REDO)],
        winner_knobs={POOL: f"{IN_MODEL}", REDO: "1073741824"},
    )
    both = "innodb_buffer_pool_size = 31G (160M in the scale model 1:200), "
    assert f"{both}innodb_redo_log_capacity = 1G: nothing" in flat(text_of(without))


def test_a_diff_changes_the_users_file_to_the_sized_value() -> None:
    current = b"[mysqld]\ninnodb_buffer_pool_size = 20G\n"
    text = text_of(of_model(), "diff", current=current)
    assert "+innodb_buffer_pool_size = 31G" in text
    assert "measured as 160M" in flat(text)


def test_the_document_has_both_values_and_the_proportions() -> None:
    document = json.loads(text_of(of_model(), "json"))
    validate(document, SCHEMA)
    [pool] = [line for line in document["lines"] if line["name"] == POOL]
    assert (pool["value"], pool["in_model"]) == (f"{31 * GIB}", f"{IN_MODEL}")
    [redo] = [line for line in document["lines"] if line["name"] == REDO]
    assert (redo["value"], redo["in_model"]) == (f"{2 * GIB}", "")


def test_a_line_that_the_baseline_shares_is_not_claimed_for_the_gain() -> None:
    same = of_model(baseline_variables={POOL: f"{IN_MODEL}", REDO: f"{100 * MIB}"})
    assert "same value as server-default" in flat(text_of(same))
