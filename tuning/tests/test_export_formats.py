"""The formats by name, and the document for programs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuning import export as package
from tuning.catalogue.knob import Durability
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import preset_names
from tuning.errors import TuningError
from tuning.export.document import export_document, render_document
from tuning.export.formats import FORMATS, ExportRequest, export
from tuning.statistics.ranking import Interval
from tuning.tests.export_cases import EFFECT, FACTS, MARIADB, facts, preset_facts

SCHEMA = json.loads(
    (Path(str(package.__file__)).parent / "document.schema.json").read_text(encoding="utf-8")
)


def valid(text: str) -> bool:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    return True


def test_every_format_has_a_file_of_its_own() -> None:
    names = {wanted.file_name for wanted in FORMATS.values()}
    assert len(names) == len(FORMATS) == 6
    for name, wanted in FORMATS.items():
        exported = export(FACTS, ExportRequest(name, current=b"[mysqld]\n"))
        assert (exported.file_name, exported.content_type) == (
            wanted.file_name,
            wanted.content_type,
        )
        assert exported.text.endswith("\n")
        assert exported.text.encode()


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(TuningError, match=r"unknown format 'pdf'; known are: cnf, sql") as refused:
        export(FACTS, ExportRequest("pdf"))
    assert refused.value.code == "unknown_format"


def test_the_document_has_every_line_and_figure() -> None:
    effect = dataclasses.replace(EFFECT, interval=Interval(1.31, 1.52, 0.95))
    document = export_document(
        facts(
            knobs={"innodb_io_capacity": "2001", "innodb_flush_neighbors": "0"},
            candidate_variables={"innodb_io_capacity": "2000"},
            effects=[effect],
            notes=[Note("innodb_io_capacity", Action.ADJUSTED, "rounded")],
        )
    )
    assert document["study"] == {
        "text": "3, what is best here",
        "url": "http://127.0.0.1:8000/studies/3/",
        "date": "2026-11-21",
    }
    assert document["server"]["text"] == "MySQL 9.7.4"
    interval = {"low": 1.31, "high": 1.52, "confidence": 0.95}
    assert document["workloads"][0]["interval"] == interval
    capacity, neighbours = document["lines"]
    assert capacity["value"] == capacity["effective"] == "2000"
    assert capacity["requested"] == "2001"
    assert capacity["default"] == "10000"
    assert capacity["written"] is True
    assert (capacity["dynamic"], capacity["change"], capacity["scope"]) == (
        True,
        "global",
        "global",
    )
    assert capacity["effects"] == [
        {"workload": EFFECT.workload, "ratio": 1.4236, "interval": interval, "alone": True}
    ]
    assert capacity["notes"] == [{"action": "adjusted", "detail": "rounded"}]
    assert (neighbours["written"], neighbours["effects"]) == (False, [])
    assert any("replication" in item for item in document["not_tested"])


@pytest.mark.parametrize("name", preset_names())
def test_the_documents_of_presets_keep_the_schema(name: str) -> None:
    assert valid(render_document(preset_facts(name, MARIADB)))
    unsafe = facts(knobs={"sync_binlog": "0", "innodb_doublewrite": "OFF"})
    assert valid(render_document(unsafe, acknowledged=Durability.D2))


@pytest.mark.long
@given(
    st.text(),
    st.none() | st.floats(),
    st.builds(Interval, st.floats(), st.floats(), st.floats()),
)
def test_it_is_json_whatever_the_texts_and_figures_are(
    text: str, figure: float | None, interval: Interval
) -> None:
    effect = dataclasses.replace(EFFECT, workload=text, ratio=figure, interval=interval)
    rendered = render_document(facts(study=text, effects=[effect], verdict=text))
    assert rendered.isascii()
    assert valid(rendered)
    assert json.loads(rendered)["verdict"] == text
