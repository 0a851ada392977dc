"""The recommended my.cnf says what was measured and what was not, and sets nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_file
from tuning.configs.effective.variables import POOL
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import preset_names
from tuning.export.comments import comment
from tuning.export.document import export_document
from tuning.export.facts import Effect, LinesEvidence
from tuning.export.lines import changed_names, default_of
from tuning.export.my_cnf import render_my_cnf
from tuning.export.persist import render_set_persist
from tuning.export.rollback import render_rollback_cnf
from tuning.statistics.ranking import Interval
from tuning.tests.export_cases import (
    EFFECT,
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
)

GIB = 1024**3


def render(**changes: Any) -> str:
    return render_my_cnf(facts(**changes))


def about(text: str, line: str) -> str:
    """The comment above a line."""
    lines = text.splitlines()
    place = lines.index(line)
    first = place
    while lines[first - 1].startswith("#"):
        first -= 1
    return flat("\n".join(lines[first:place]))


def test_the_header_has_the_evidence() -> None:
    text = flat(render(verdict="It won.", candidate_variables={"log_bin": "ON"}))
    for part in (
        "3, what is best here",
        "http://127.0.0.1:8000/studies/3/",
        "2026-11-21",
        "/srv/data (nvme, nvme0n1, ext4)",
        "MySQL 9.7.4, binary log ON",
        "tpcc-mysql, 10 warehouses, 8 connections",
        "1.424 times the tpmP of server-default (over 3 blocks; no interval was computed)",
        "12346 tpmP, p95 7.8 ms against 8700 tpmP, p95 12.5 ms; 3 OK runs, 1 without a result",
        "It won.",
        "D0: nothing in this file loses committed data.",
        "It is not tpmC",
        "Not tested:",
        "more data than this (1.1 GB)",
        "crash recovery times",
    ):
        assert part in text


def test_it_sets_the_knobs_and_nothing_else() -> None:
    assert knobs_in(render()) == FACTS.knobs


def test_each_line_is_explained() -> None:
    text = render(knobs={"innodb_io_capacity": "2000", "sort_buffer_size": "32769"})
    capacity = about(text, "innodb_io_capacity = 2000")
    assert "I/O operations per second for background flushing" in capacity
    assert (
        "[D0; dynamic: can be set on the running server (SET GLOBAL); scope: global]" in capacity
    )
    assert "scope: global and session" in about(text, "sort_buffer_size = 32769")
    assert "requires a restart" in about(render(), "innodb_flush_method = O_DIRECT")


def test_sizes_have_a_unit_where_that_is_exact_and_the_server_reads_it() -> None:
    old = facts(server=MYSQL_57, knobs={POOL: f"{1024 * GIB}"})
    assert f"\n{POOL} = {1024 * GIB}\n" in render_my_cnf(old), "it knows no T"
    given = facts(
        knobs={POOL: f"{2 * GIB}", "sort_buffer_size": "32769", "innodb_io_capacity": "2048"},
        candidate_variables={POOL: f"{3 * GIB}"},
        left_out=[LinesEvidence({"join_buffer_size": f"{GIB}"}, "no_effect", "nothing")],
    )
    text = render_my_cnf(given)
    for line in (f"{POOL} = 3G", "sort_buffer_size = 32769", "innodb_io_capacity = 2048"):
        assert f"\n{line}\n" in text
    assert "Requested: 2G; the server used 3G, which was measured." in flat(text)
    assert "join_buffer_size = 1G: nothing" in flat(text)
    assert f"SET PERSIST {POOL} = {3 * GIB};" in render_set_persist(given)
    assert {"name": POOL, "value": f"{3 * GIB}"}.items() <= export_document(given)["lines"][
        0
    ].items()
    old_size = f"{POOL} = 1G".encode()
    restored = render_rollback_cnf(given, current=b"[mysqld]\n%b\n" % old_size)
    assert f"\n{POOL} = 1G\n" in restored
    assert "\nsort_buffer_size = 256K\n" in restored
    patched = patched_cnf(given, b"[mysqld]\n %b # mine\n" % old_size).decode()
    assert f"\n {POOL} = 3G # mine\n" in patched


def test_lines_that_were_measured_together_say_so() -> None:
    effect = dataclasses.replace(EFFECT, interval=Interval(1.31, 1.52, 0.95))
    text = render(effects=[effect])
    said = (
        "Measured together with 1 other setting: +42.4 % tpmP against server-default "
        "(95 % interval +31.0 % to +52.0 %)."
    )
    assert said in about(text, "innodb_io_capacity = 2000")
    assert "each line on its own" in flat(text)


def test_the_effect_of_a_single_line_is_that_lines() -> None:
    text = render(knobs={"innodb_io_capacity": "2000", "innodb_flush_neighbors": "0"})
    said = "Measured on its own: +42.4 % tpmP against server-default (no interval was computed)."
    assert said in about(text, "innodb_io_capacity = 2000")
    assert "each line on its own" not in flat(text)
    assert "innodb_flush_neighbors" in text  # which is the server's default, and left out
    assert knobs_in(text) == {"innodb_io_capacity": "2000"}


def test_a_line_that_the_baseline_has_too_has_no_effect_of_its_own() -> None:
    text = render(
        baseline_knobs={"innodb_flush_method": "O_DIRECT"},
        baseline_variables={"innodb_io_capacity": "10000", "innodb_flush_method": "O_DIRECT"},
    )
    assert knobs_in(text) == FACTS.knobs
    said = "server-default had the same value, so its effect was not measured."
    assert said in about(text, "innodb_flush_method = O_DIRECT")
    assert "Measured on its own" in about(text, "innodb_io_capacity = 2000")


def test_what_only_the_baseline_sets_counts_as_a_difference() -> None:
    given = facts(
        knobs={"innodb_io_capacity": "2000"}, baseline_knobs={"innodb_thread_concurrency": "64"}
    )
    assert changed_names(given) == {"innodb_io_capacity", "innodb_thread_concurrency"}


def test_several_workloads_each_have_their_effect() -> None:
    other = dataclasses.replace(EFFECT, workload="64 connections", ratio=0.9)
    said = about(render(effects=[EFFECT, other]), "innodb_io_capacity = 2000")
    assert "+42.4 % tpmP" in said
    assert "-10.0 % tpmP against server-default (no interval was computed) with 64 conn" in said


def test_what_the_server_made_of_a_value_is_what_is_written() -> None:
    text = render(
        knobs={"table_open_cache": "8000"}, candidate_variables={"table_open_cache": "7995"}
    )
    assert knobs_in(text) == {"table_open_cache": "7995"}
    assert "Requested: 8000; the server used 7995, which was measured." in flat(text)


def test_what_the_server_has_anyway_is_left_out_and_named() -> None:
    text = render(
        baseline_variables={"innodb_io_capacity": "2000", "innodb_flush_method": "fsync"}
    )
    assert knobs_in(text) == {"innodb_flush_method": "O_DIRECT"}
    said = "Left out because they are the server's defaults: innodb_io_capacity."
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
    assert "Set on lines 3 and 7: the last one counts." in text
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
    assert "12346 tpmP, p95 7.8 ms: median of 3 OK runs" in flat(text)


def test_an_interval_is_shown_once_there_is_one() -> None:
    effect = dataclasses.replace(EFFECT, interval=Interval(1.31, 1.52, 0.95))
    assert "95 % interval 1.310 to 1.520" in flat(render(effects=[effect]))


def test_figures_that_are_missing_are_not_invented() -> None:
    effect = Effect(workload="w", ratio=None, runs=0, failures=3, blocks=3)
    text = flat(render(effects=[effect]))
    assert "no ratio to server-default" in text
    assert "no tpmP against no tpmP; 0 OK runs, 3 without a result" in text
    assert "no figure against server-default" in text


@pytest.mark.long
@given(st.text(max_size=300))
def test_no_text_from_outside_becomes_an_option(text: str) -> None:
    rendered = render(
        study=text,
        study_url=text,
        date=text,
        device=f"{text}\n[mysqld]\nport = 1",
        candidate=text,
        baseline=text,
        verdict=text,
        source=text,
        effects=[dataclasses.replace(EFFECT, workload=text)],
        notes=[Note("innodb_io_capacity", Action.KEPT, text), Note(text, Action.DROPPED, text)],
        not_tested=[text],
    )
    assert knobs_in(rendered) == FACTS.knobs


def test_a_word_longer_than_the_servers_buffer_stays_a_comment() -> None:
    """The server reads pieces of 4 KiB, and the second one would not begin with a #."""
    text = render(verdict="x" * 4094 + "port=1")
    assert max(len(line.encode()) for line in text.splitlines()) < 4095
    assert knobs_in(text) == FACTS.knobs


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    for before in range(60, 100):
        text = f"{'x' * before} +12.1 to +35.4 % (95 %: 87.3 ms), 8 GB."
        lines = comment(text)
        assert " ".join(line.removeprefix("# ") for line in lines) == text
        assert not [line for line in lines if line.startswith(("# %", "# ms", "# GB"))], lines
    # Nothing that somebody named so is one long word.
    assert max(map(len, comment("%5 " * 3000 + "%,5 " * 3000 + "5 % " * 3000))) < 100


@pytest.mark.parametrize("target", [MYSQL, MYSQL_8, MYSQL_57, MARIADB], ids=str)
def test_a_presets_export_reads_back_as_the_preset(target: ServerTraits) -> None:
    for name in preset_names():
        given = preset_facts(name, target)
        if not given.knobs:
            continue
        again = dict(plan_file("my.cnf", render_my_cnf(given).encode(), target).knobs)
        left_out = {n: default_of(n, given) for n in given.knobs if n not in again}
        assert {**again, **left_out} == given.knobs, name
        assert all(value is not None for value in left_out.values()), name
