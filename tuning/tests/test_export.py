"""The recommended my.cnf says what was measured, what was not, and the server takes it."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.binary import Flavour, ServerBinary
from tuning.catalogue.knob import Durability
from tuning.configs.candidates import plan_preset
from tuning.configs.cnf import parse_cnf
from tuning.configs.gate import check
from tuning.configs.notes import Action, Note
from tuning.configs.presets import preset_names
from tuning.configs.resources import HostResources
from tuning.configs.target import ServerTraits
from tuning.errors import TuningError
from tuning.export import Effect, ExportFacts, render_my_cnf
from tuning.ranking import Interval

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
RESOURCES = HostResources(8 * 1024**3, 8, data_bytes=1024**3)
EFFECT = Effect(
    workload="tpcc-mysql, 10 warehouses, 8 connections, 5 s warm-up, 12 s measured",
    ratio=1.4236,
    runs=3,
    failures=1,
    blocks=3,
    tpmP=12345.6,
    p95_ms=7.77,
    baseline_tpmP=8700.0,
    baseline_p95_ms=12.5,
)
FACTS = ExportFacts(
    study="study 3, http://127.0.0.1:8000/studies/3/",
    date="2026-11-21",
    device="/srv/data (nvme, nvme0n1, ext4)",
    server=MYSQL,
    candidate="mine",
    baseline="server-default",
    knobs={"innodb_io_capacity": "2000", "innodb_flush_method": "O_DIRECT"},
    effects=[EFFECT],
    data_bytes=1024**3,
)


def render(**changes: Any) -> str:
    return render_my_cnf(dataclasses.replace(FACTS, **changes))


def knobs_in(text: str, target: ServerTraits = MYSQL) -> dict[str, str]:
    file = parse_cnf(text.encode(), "export", target)
    return check(file.settings, target).knobs


def flat(text: str) -> str:
    """The text without its comment marks and line breaks."""
    return " ".join(line.lstrip("# ") for line in text.splitlines())


def test_the_header_has_the_evidence() -> None:
    text = flat(render(verdict="It won."))
    for part in (
        "study 3, http://127.0.0.1:8000/studies/3/",
        "2026-11-21",
        "/srv/data (nvme, nvme0n1, ext4)",
        "MySQL 9.7.4",
        "tpcc-mysql, 10 warehouses, 8 connections",
        "1.424 times the tpmP of server-default (median over 3 blocks; no interval was computed)",
        "12346 tpmP, p95 7.8 ms against 8700 tpmP, p95 12.5 ms; 3 OK runs, 1 failed",
        "It won.",
        "D0: nothing in this file loses committed data.",
        "It is not tpmC",
        "Not tested:",
        "more data than this (1.0 GiB)",
        "crash recovery times",
    ):
        assert part in text


def test_it_sets_the_knobs_and_nothing_else() -> None:
    assert knobs_in(render()) == FACTS.knobs


def test_each_line_is_explained() -> None:
    lines = render().splitlines()
    place = lines.index("innodb_flush_method = O_DIRECT")
    about = flat("\n".join(lines[lines.index("innodb_io_capacity = 2000") + 1 : place]))
    assert "page cache (fsync) or around it" in about
    assert "[D0; takes a restart]" in about


def test_what_the_server_made_of_a_value_is_what_is_written() -> None:
    text = render(
        knobs={"table_open_cache": "8000"}, candidate_variables={"table_open_cache": "7995"}
    )
    assert knobs_in(text) == {"table_open_cache": "7995"}
    assert "Asked for 8000; the server made it 7995, which was measured." in flat(text)


def test_what_the_baseline_has_anyway_is_left_out_and_named() -> None:
    text = render(
        baseline_variables={"innodb_io_capacity": "2000", "innodb_flush_method": "fsync"}
    )
    assert knobs_in(text) == {"innodb_flush_method": "O_DIRECT"}
    assert "Left out, because server-default has the same value: innodb_io_capacity." in flat(text)


def test_notes_stand_with_their_line_and_what_was_dropped_at_the_end() -> None:
    notes = [
        Note("innodb_io_capacity", Action.KEPT, "set on lines 3 and 7: the last one counts"),
        Note("query_cache_size", Action.DROPPED, "MySQL 9.7.4 does not have it"),
    ]
    text = flat(render(notes=notes))
    assert "Set on lines 3 and 7: the last one counts." in text
    assert "not here: - query_cache_size (dropped): MySQL 9.7.4 does not have it" in text


def test_a_pool_comes_with_the_warning_that_it_was_sized_to_the_tested_data() -> None:
    assert "size it to your own data and memory" in flat(
        render(knobs={"innodb_buffer_pool_size": "62914560"})
    )


def test_keeping_the_baseline_gives_a_file_of_comments_only() -> None:
    text = render(candidate="server-default", knobs={})
    assert knobs_in(text) == {}
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        "[mysqld]"
    ]
    assert "Nothing is set, on purpose: keep what the server does by itself." in flat(text)
    assert "12346 tpmP, p95 7.8 ms: median of 3 OK runs" in flat(text)


def test_an_interval_is_shown_once_there_is_one() -> None:
    effect = dataclasses.replace(EFFECT, interval=Interval(1.31, 1.52, 0.95))
    assert "95% interval 1.310 to 1.520" in flat(render(effects=[effect]))


def test_figures_that_are_missing_are_not_invented() -> None:
    effect = Effect(workload="w", ratio=None, runs=0, failures=3, blocks=3)
    text = flat(render(effects=[effect]))
    assert "no ratio to server-default" in text
    assert "no tpmP against no tpmP; 0 OK runs, 3 failed" in text


@pytest.mark.parametrize(
    ("knobs", "needed", "warning"),
    [
        ({"sync_binlog": "0"}, Durability.D1, "the last commits can be lost in a crash"),
        ({"innodb_doublewrite": "OFF"}, Durability.D2, "a crash can corrupt the database"),
    ],
)
def test_unsafe_configs_need_an_acknowledgement_and_carry_a_warning(
    knobs: dict[str, str], needed: Durability, warning: str
) -> None:
    facts = dataclasses.replace(FACTS, knobs=knobs)
    with pytest.raises(TuningError, match="must be acknowledged") as refused:
        render_my_cnf(facts)
    assert refused.value.code == "durability_not_acknowledged"
    text = flat(render_my_cnf(facts, acknowledged=needed))
    assert f"{needed}: WARNING" in text
    assert warning in text


@given(st.text(max_size=300))
def test_no_text_from_outside_becomes_an_option(text: str) -> None:
    rendered = render(
        study=text,
        device=f"{text}\n[mysqld]\nport = 1",
        candidate=text,
        verdict=text,
        source=text,
        effects=[dataclasses.replace(EFFECT, workload=text)],
        notes=[Note("innodb_io_capacity", Action.KEPT, text), Note(text, Action.DROPPED, text)],
        not_tested=[text],
    )
    assert knobs_in(rendered) == FACTS.knobs


@pytest.mark.parametrize("name", preset_names())
def test_a_presets_export_reads_back_as_the_preset(name: str) -> None:
    for target in (MYSQL, ServerTraits(Flavour.MARIADB, (10, 11, 19))):
        candidate = plan_preset(name, target, resources=RESOURCES)
        text = render(server=target, knobs=candidate.knobs, notes=candidate.notes)
        assert knobs_in(text, target) == candidate.knobs


@pytest.mark.server
@pytest.mark.parametrize("name", preset_names())
def test_the_server_accepts_the_file(
    name: str, any_server: ServerBinary, server_tmp: Path
) -> None:
    target = ServerTraits.of(any_server)
    candidate = plan_preset(name, target, resources=RESOURCES)
    config = server_tmp / "my.cnf"
    config.write_text(render(server=target, knobs=candidate.knobs, notes=candidate.notes))
    # MySQL's packaged default for that directory exists only where its package is installed.
    ask = ["--validate-config", "--secure-file-priv=NULL"]
    if target.mariadb:
        ask = ["--verbose", "--help"]
    finished = subprocess.run(
        [
            any_server.path,
            f"--defaults-file={config}",
            f"--datadir={server_tmp}",
            "--user=root",
            *ask,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    assert "[ERROR]" not in finished.stderr
