"""The recommended my.cnf says what was measured and what was not, and sets nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.drivers.workloads import TPCC
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_file
from tuning.configs.line import Action, Note
from tuning.configs.presets import preset_names
from tuning.configs.variables import POOL
from tuning.export.answer import answer_of
from tuning.export.lines import changed_names, default_of, lines_of
from tuning.results.document import LinesEffect
from tuning.statistics.estimate import Estimate
from tuning.tests.export_cases import (
    FACTS,
    MARIADB,
    MYSQL,
    MYSQL_8,
    MYSQL_57,
    facts,
    flat,
    knobs_in,
    patched_cnf,
    preset_facts,
    rendered,
)

GIB = 1024**3


def render(**changes: Any) -> str:
    return rendered(facts(**changes))


def left_out(*names: str) -> LinesEffect:
    return LinesEffect(
        names=names,
        state="no_effect",
        estimate=None,
        blocks=0,
        reason="",
        text="nothing",
        is_left_out=True,
    )


def about(text: str, line: str) -> str:
    """The comment above a line."""
    lines = text.splitlines()
    place = lines.index(line)
    first = place
    while lines[first - 1].startswith("#"):
        first -= 1
    return flat("\n".join(lines[first:place]))


def test_the_head_has_the_evidence_in_at_most_ten_lines() -> None:
    text = render(
        candidate_variables={"log_bin": "ON"},
        device={"is_throttled": True},
    )
    head = text.partition("\n\n")[0]
    assert len(head.splitlines()) <= 10
    for part in (
        "study 3, what is best here",
        "http://127.0.0.1:8000/studies/3/",
        "MySQL 9.7.4, binary log ON; NVMe, nvme0n1, ext4: /srv/data",
        "tpcc-mysql, 10 warehouses, 8 connections",
        "Set 2 lines (mine): +42.4 % throughput (no interval was computed) against server-default",
        "Confidence: Provisional. Better than server-default: not confirmed in fresh pairs.",
        "p95 7.8 ms instead of 12.5 ms",
        "no durability lost by these lines",
        "recovery not timed",
        "Before production: Not tested: a real device of that kind",
    ):
        assert part in flat(head)


def test_it_sets_the_knobs_and_nothing_else() -> None:
    assert knobs_in(render()) == FACTS.knobs


def test_each_line_has_one_comment() -> None:
    text = render(knobs={"innodb_io_capacity": "2000", "sort_buffer_size": "32769"})
    capacity = about(text, "innodb_io_capacity = 2000")
    assert capacity == "Default 10000; measured with 1 other setting; dynamic."
    assert "dynamic, for new connections" in about(text, "sort_buffer_size = 32769")
    assert "requires a restart" in about(render(), "innodb_flush_method = O_DIRECT")
    lines = text.partition("[mysqld]\n")[2].splitlines()
    assert [line.startswith("#") for line in lines] == [True, False] * 2


def test_sizes_have_a_unit_where_that_is_exact_and_the_server_reads_it() -> None:
    old = facts(server=MYSQL_57, knobs={POOL: f"{1024 * GIB}"})
    assert f"\n{POOL} = 1024G\n" in rendered(old), "it knows no T"
    given = facts(
        knobs={POOL: f"{2 * GIB}", "sort_buffer_size": "32769", "innodb_io_capacity": "2048"},
        candidate_variables={POOL: f"{3 * GIB}"},
        ablation=[left_out("join_buffer_size")],
        winner_knobs={"join_buffer_size": f"{GIB}"},
    )
    text = rendered(given)
    for line in (f"{POOL} = 3G", "sort_buffer_size = 32769", "innodb_io_capacity = 2048"):
        assert f"\n{line}\n" in text
    assert "requested 2G, used as the server had it" in flat(text)
    assert "join_buffer_size = 1G: nothing" in flat(text)
    assert f"SET PERSIST {POOL} = {3 * GIB};" in rendered(given, "sql")
    line = json.loads(rendered(given, "json"))["lines"][0]
    assert (line["name"], line["value"]) == (POOL, f"{3 * GIB}")
    old_size = f"{POOL} = 1G".encode()
    restored = rendered(given, "rollback-cnf", b"[mysqld]\n%b\n" % old_size)
    assert f"\n{POOL} = 1G\n" in restored
    assert "\nsort_buffer_size = 256K\n" in restored
    patched = patched_cnf(given, b"[mysqld]\n %b # mine\n" % old_size).decode()
    assert f"\n {POOL} = 3G # mine\n" in patched


def test_the_interval_is_in_the_head() -> None:
    estimate = Estimate(ratio=1.4236, low=1.31, high=1.52, confidence=0.95)
    text = render(effect=estimate)
    assert "+42.4 % throughput (95 % interval +31.0 to +52.0 %) against server-default" in flat(
        text
    )


def test_a_single_line_was_measured_alone() -> None:
    text = render(knobs={"innodb_io_capacity": "2000", "innodb_flush_neighbors": "0"})
    assert "measured alone" in about(text, "innodb_io_capacity = 2000")
    assert "innodb_flush_neighbors" in text  # which is the server's default, and left out
    assert knobs_in(text) == {"innodb_io_capacity": "2000"}


def test_a_line_that_the_baseline_has_too_has_no_effect_of_its_own() -> None:
    text = render(
        baseline_knobs={"innodb_flush_method": "O_DIRECT"},
        baseline_variables={"innodb_io_capacity": "10000", "innodb_flush_method": "O_DIRECT"},
    )
    assert knobs_in(text) == FACTS.knobs
    said = "same value as server-default"
    assert said in about(text, "innodb_flush_method = O_DIRECT").lower()
    assert "measured alone" in about(text, "innodb_io_capacity = 2000")


def test_what_only_the_baseline_sets_counts_as_a_difference() -> None:
    given = facts(
        knobs={"innodb_io_capacity": "2000"}, baseline_knobs={"innodb_thread_concurrency": "64"}
    )
    assert changed_names(given) == {"innodb_io_capacity", "innodb_thread_concurrency"}


@pytest.mark.parametrize(
    ("knobs", "old", "title"),
    [
        ({}, {"innodb_thread_concurrency": "64"}, "Leave out 1 line (mine)"),
        (
            {"innodb_io_capacity": "2000"},
            {"innodb_io_capacity": "100", "innodb_thread_concurrency": "64"},
            "Set 1 line, leave out 1 line (mine)",
        ),
        ({"innodb_io_capacity": "2000"}, {}, "Set 1 line (mine)"),
        ({}, {}, "No line differs (mine)"),
    ],
)
def test_the_answer_names_lines_to_leave_out(
    knobs: dict[str, str], old: dict[str, str], title: str
) -> None:
    given = facts(knobs=knobs, baseline_knobs=old, baseline="my.cnf", file=b"[mysqld]\n")
    answer = answer_of(given, lines_of(given))
    assert answer.title == title
    left_out = {one.name: one.before for one in answer.lines if "default" in one.value}
    expected = {name: value for name, value in old.items() if name not in knobs}
    assert left_out == expected
    assert ("by hand" in answer.next_step) == bool(expected)


@pytest.mark.parametrize("can_be_scaled", [True, False])
def test_only_a_workload_that_can_be_scaled_is_to_be_run_with_other_sizes(
    can_be_scaled: bool,
) -> None:
    given = facts(knobs={POOL: f"{GIB}"}, workload=TPCC if can_be_scaled else "oltp_read_only")
    answer = answer_of(given, lines_of(given))
    assert ("your own data size" in answer.next_step) == can_be_scaled


def test_what_the_server_made_of_a_value_is_what_is_written() -> None:
    text = render(
        knobs={"table_open_cache": "8000"}, candidate_variables={"table_open_cache": "7995"}
    )
    assert knobs_in(text) == {"table_open_cache": "7995"}
    assert "requested 8000, used as the server had it" in flat(text)


def test_what_the_server_has_anyway_is_left_out_and_named() -> None:
    text = render(
        baseline_variables={"innodb_io_capacity": "2000", "innodb_flush_method": "fsync"}
    )
    assert knobs_in(text) == {"innodb_flush_method": "O_DIRECT"}
    said = "Left out because they are the server's defaults: innodb_io_capacity"
    assert said in flat(text)


def test_a_baseline_that_sets_something_does_not_show_the_defaults() -> None:
    text = render(
        knobs={"innodb_io_capacity": "2000"},
        baseline_knobs={"innodb_io_capacity": "2000"},
        baseline_variables={"innodb_io_capacity": "2000"},
    )
    assert knobs_in(text) == {"innodb_io_capacity": "2000"}


def test_a_default_that_follows_another_line_is_written() -> None:
    """Else 8.4 and later would make the ceiling twice the lowered capacity."""
    knobs = {"innodb_io_capacity": "200", "innodb_io_capacity_max": "20000"}
    text = render(
        knobs=knobs,
        baseline_variables={"innodb_io_capacity": "10000", "innodb_io_capacity_max": "20000"},
    )
    assert knobs_in(text) == knobs


def test_notes_stand_with_their_line_and_what_was_dropped_at_the_end() -> None:
    notes = [
        Note("innodb_io_capacity", Action.KEPT, "set on lines 3 and 7: the last one counts"),
        Note("query_cache_size", Action.DROPPED, "MySQL 9.7.4 does not have it"),
    ]
    text = flat(render(notes=notes))
    assert "set on lines 3 and 7: the last one counts." in text
    assert "not in this file: query_cache_size (dropped): MySQL 9.7.4 does not have it" in text


def test_a_pool_comes_with_the_warning_that_it_was_sized_to_the_tested_data() -> None:
    assert "size it for your own data and memory" in flat(
        render(knobs={"innodb_buffer_pool_size": "62914560"})
    )


def test_keeping_the_baseline_gives_a_file_of_comments_only() -> None:
    text = render(candidate="server-default", knobs={})
    assert knobs_in(text) == {}
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        "[mysqld]"
    ]
    assert "Empty on purpose: the server's defaults are recommended." in flat(text)
    assert "Keep server-default" in flat(text)


def test_figures_that_are_missing_are_not_invented() -> None:
    assert "p95" not in flat(render(p95_ms=None))


@pytest.mark.long
@given(st.text(max_size=300))
def test_no_text_from_outside_becomes_an_option(text: str) -> None:
    rendered = render(
        study=text,
        study_url=text,
        device={"data_dir": f"{text}\n[mysqld]\nport = 1"},
        candidate=f"{text} mine",
        baseline=text,
        workload=text,
        notes=[Note("innodb_io_capacity", Action.KEPT, text), Note(text, Action.DROPPED, text)],
    )
    assert knobs_in(rendered) == FACTS.knobs


def test_a_word_longer_than_the_servers_buffer_stays_a_comment() -> None:
    """The server reads pieces of 4 KiB, and the second one would not begin with a #."""
    text = render(device={"data_dir": "x" * 4094 + "port=1"})
    assert max(len(line.encode()) for line in text.splitlines()) < 4095
    assert knobs_in(text) == FACTS.knobs


@pytest.mark.parametrize("target", [MYSQL, MYSQL_8, MYSQL_57, MARIADB], ids=str)
def test_a_presets_export_reads_back_as_the_preset(target: ServerTraits) -> None:
    for name in preset_names():
        given = preset_facts(name, target)
        if not given.knobs:
            continue
        again = dict(plan_file("my.cnf", rendered(given).encode(), target).knobs)
        left_out = {n: default_of(n, given) for n in given.knobs if n not in again}
        assert {**again, **left_out} == given.knobs, name
        assert all(value is not None for value in left_out.values()), name
