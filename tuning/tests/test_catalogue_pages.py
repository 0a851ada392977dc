"""The pages of docs/ that are made from the catalogue say what it says, and are up to date."""

from __future__ import annotations

import csv
from pathlib import Path

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import parse_traits
from tuning.configs.translate import why_absent
from tuning.knob_docs.reference import reference_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
PUBLISHED = Path(__file__).parent / "data" / "whitepaper_configs.csv"


def test_the_committed_page_is_the_generated_one() -> None:
    said = "run: manage.py knobs_docs"
    assert (DOCS / "reference" / "knobs.md").read_text(encoding="utf-8") == reference_page(), said


def test_every_published_parameter_has_a_section() -> None:
    rows = csv.DictReader(PUBLISHED.read_text().splitlines())
    published = {row["parameter"].removesuffix(" (Percona)") for row in rows}
    lines = reference_page().splitlines()
    for name in published & load_catalogue().knobs.keys():
        assert f"### {name}" in lines
    assert published - load_catalogue().knobs.keys() <= {"datadir", "tmpdir"}


def test_a_variable_that_no_server_has_any_more_is_explained_by_its_successor() -> None:
    knob = load_catalogue().knobs["innodb_log_block_size"]
    assert why_absent(knob, parse_traits("mysql 9.7.4")) == (
        "MySQL 9.7.4 does not have it; use innodb_log_write_ahead_size"
    )


def test_every_knob_is_described_with_what_matters() -> None:
    sections = dict(
        part.split("\n", 1) for part in reference_page().split("\n### ")[1:] if "\n" in part
    )
    assert sections.keys() == load_catalogue().knobs.keys()
    trx_commit = sections["innodb_flush_log_at_trx_commit"]
    assert "- D1 with `0`, `2`: may lose the commits of about the last second" in trx_commit
    assert "takes `0` to `3`" in trx_commit
    capacity = sections["innodb_io_capacity"]
    assert "`200`, from 8.4 `10000` [B]" in capacity
    assert "; changes while the server runs" in capacity
    assert "- Worth testing: `200` to `15000` (Percona blogs" in capacity
    redo = sections["innodb_redo_log_capacity"]
    assert "- Worth testing: 512M per CPU (innodb_dedicated_server of MySQL 8.4" in redo
    assert "- Worth testing: 0.5 to 0.75 x the memory" in sections["innodb_buffer_pool_size"]
    assert "Fixed when the data directory is created." in sections["innodb_page_size"]
    assert "Percona Server: " not in sections["innodb_fill_factor"]
