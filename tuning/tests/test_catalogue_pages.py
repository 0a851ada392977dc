"""The pages of docs/ that are made from the catalogue say what it says, and are up to date."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tuning.catalogue.loader import load_catalogue
from tuning.configs.translation.absence import why_absent
from tuning.knob_docs.reference import reference_page
from tuning.knob_docs.whitepaper import COLUMNS, PARAMETERS, fate, whitepaper_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
PUBLISHED = Path(__file__).parent / "data" / "whitepaper_configs.csv"


@pytest.mark.parametrize(
    ("name", "page"),
    [("knobs.md", reference_page), ("whitepaper-parameters.md", whitepaper_page)],
)
def test_the_committed_page_is_the_generated_one(name: str, page: object) -> None:
    assert callable(page)
    assert (DOCS / name).read_text(encoding="utf-8") == page(), "run: manage.py knobs_docs"


def test_every_published_parameter_has_a_row() -> None:
    rows = csv.DictReader(PUBLISHED.read_text().splitlines())
    published = {row["parameter"].removesuffix(" (Percona)") for row in rows}
    assert published <= PARAMETERS.keys()
    lines = whitepaper_page().splitlines()
    for name in PARAMETERS:
        [row] = [line for line in lines if line.startswith(f"| `{name}`")]
        assert row.count(" | ") == len(COLUMNS) + 1, name


@pytest.mark.parametrize(
    ("name", "server", "expected"),
    [
        ("innodb_flush_neighbors", "MySQL 8.0", "default changed: `1` → `0`"),
        ("innodb_flush_neighbors", "MariaDB 10.11", "kept: `1`"),
        ("innodb_io_capacity", "MySQL 8.4", "default changed: `200` → `10000`"),
        (
            "innodb_log_file_size",
            "MySQL 8.0",
            "kept: `48M`; deprecated since 8.0.30, use `innodb_redo_log_capacity`",
        ),
        (
            "innodb_log_file_size",
            "MySQL 9.x",
            "replaced: by `innodb_redo_log_capacity`; removed after 8.4",
        ),
        ("query_cache_size", "Percona Server 8.0", "dropped: removed in 8.0.3"),
        ("query_cache_size", "MariaDB 10.11", "kept: `1M`"),
        (
            "innodb_page_cleaners",
            "MariaDB 10.11",
            "dropped: removed in 10.6; the name is still accepted, with a warning",
        ),
        ("datadir", "MySQL 9.x", "a path: set by the advisor"),
        ("innodb_log_group_home_dir", "MySQL 9.x", "a path: set by the advisor"),
        ("innodb_show_locks_held", "MySQL 8.4", "not available: Percona Server only"),
        ("innodb_show_locks_held", "Percona Server 8.0", "kept: `10`"),
        ("log_timestamps", "MariaDB 10.11", "not available"),
        ("read_ahead_buffer", "MySQL 8.0", "no variable: see `innodb_read_ahead_threshold`"),
        (
            "innodb_checksum_algorithm",
            "MySQL 9.x",
            "kept: `crc32`; the paper's `NONE` is of durability class D2",
        ),
        (
            "innodb_checksum_algorithm",
            "MariaDB 10.11",
            "default changed: `crc32` → `full_crc32`; the paper's `NONE` is not accepted",
        ),
        (
            "innodb_max_purge_lag_delay",
            "MySQL 8.0",
            "kept: `0`; the paper's `30000000` is not accepted (at most 10000000)",
        ),
    ],
)
def test_what_becomes_of_a_parameter(name: str, server: str, expected: str) -> None:
    assert str(fate(name, COLUMNS[server])) == expected


def test_a_variable_that_no_server_has_any_more_is_explained_by_its_successor() -> None:
    knob = load_catalogue().knobs["innodb_log_block_size"]
    assert why_absent(knob, COLUMNS["MySQL 9.x"]) == (
        "MySQL 9.7.4 does not have it; use innodb_log_write_ahead_size"
    )


def test_every_knob_is_described_with_what_matters() -> None:
    sections = dict(
        part.split("\n", 1) for part in reference_page().split("\n### ")[1:] if "\n" in part
    )
    assert sections.keys() == load_catalogue().knobs.keys()
    trx_commit = sections["innodb_flush_log_at_trx_commit"]
    assert "- D1 with `0`, `2`: may lose the commits of about the last second" in trx_commit
    assert "`0` to `3` (MariaDB 10.6, 10.11, 11.8)" in trx_commit
    capacity = sections["innodb_io_capacity"]
    assert "`10000` [B] (MySQL 8.4, 9.7)" in capacity
    assert "- Changes while the server runs." in capacity
    assert "- Worth testing: `200` to `15000` (Percona blogs" in capacity
    redo = sections["innodb_redo_log_capacity"]
    assert "- Worth testing: 512M per CPU (innodb_dedicated_server of MySQL 8.4" in redo
    assert "- Worth testing: 0.5 to 0.75 x the memory" in sections["innodb_buffer_pool_size"]
    assert "Fixed when the data directory is created." in sections["innodb_page_size"]
    assert "Percona Server 5.7: " not in sections["innodb_fill_factor"]
