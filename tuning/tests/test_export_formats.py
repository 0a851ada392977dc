"""The formats by name, the document for programs, Ansible variables and RDS parameters."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.presets import preset_names
from tuning.errors import TuningError
from tuning.export.formats import FORMATS, ExportDocument, ExportRequest, export
from tuning.statistics.estimate import Estimate
from tuning.tests.export_cases import FACTS, MARIADB, facts, preset_facts, rendered

MYSQL_80, MYSQL_84 = (ServerTraits(Flavour.MYSQL, one) for one in ((8, 0, 36), (8, 4, 6)))
DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "reference" / "export.schema.json").read_text(encoding="utf-8"))


def valid(text: str) -> bool:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    return True


def test_every_format_has_a_file_of_its_own() -> None:
    names = {wanted.file_name for wanted in FORMATS.values()}
    assert len(names) == len(FORMATS) == 8
    for name, wanted in FORMATS.items():
        exported = export(FACTS, ExportRequest(name, current=b"[mysqld]\n"))
        assert (exported.file_name, exported.content_type) == (
            wanted.file_name,
            wanted.content_type,
        )
        assert exported.text.endswith("\n")
        assert exported.text.encode()


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(
        TuningError, match=r"unknown format 'pdf'; known are: cnf, diff, sql"
    ) as refused:
        export(FACTS, ExportRequest("pdf"))
    assert refused.value.code == "unknown_format"


def test_the_published_schema_is_that_of_the_classes() -> None:
    said = "run: manage.py document_schema"
    assert ExportDocument.model_json_schema(mode="serialization") == SCHEMA, said


def test_the_document_has_every_line_and_figure() -> None:
    estimate = Estimate(ratio=1.4236, low=1.31, high=1.52, confidence=0.95)
    given_ = facts(
        knobs={"innodb_io_capacity": "2001", "innodb_flush_neighbors": "0"},
        candidate_variables={"innodb_io_capacity": "2000"},
        effect=estimate,
    )
    document = json.loads(rendered(given_, "json"))
    assert document["study"] == "3, what is best here (template first-answer)"
    assert document["server"] == "MySQL 9.7.4"
    assert document["recommendation"]["effect"] == estimate.model_dump()
    assert document["answer"]["effect"].startswith("+42.4 % throughput (95 % interval")
    capacity, neighbours = document["lines"]
    assert capacity["value"] == capacity["effective"] == "2000"
    assert (capacity["requested"], capacity["default"]) == ("2001", "10000")
    assert capacity["written"] is True
    assert capacity["how"] == "now"
    assert capacity["evidence"] == "measured alone"
    said = "same value as server-default"
    assert (neighbours["written"], neighbours["evidence"]) == (False, said)
    assert any("replication" in item for item in document["not_tested"])


@pytest.mark.parametrize("name", preset_names())
def test_the_documents_of_presets_keep_the_schema(name: str) -> None:
    assert valid(rendered(preset_facts(name, MARIADB), "json"))
    unsafe = facts(knobs={"sync_binlog": "0", "innodb_doublewrite": "OFF"})
    assert valid(rendered(unsafe, "json", acknowledged=Durability.D2))


@pytest.mark.long
@given(st.text(), st.floats(), st.none() | st.floats())
def test_it_is_json_whatever_the_texts_and_figures_are(
    text: str, figure: float, bound: float | None
) -> None:
    estimate = Estimate(ratio=figure, low=bound, high=bound, confidence=0.95)
    found = rendered(facts(study=text, effect=estimate), "json")
    assert found.isascii()
    assert text in json.loads(found)["study"]


def test_ansible_gets_the_settings_as_one_variable() -> None:
    knobs = {"innodb_buffer_pool_size": f"{2 * 1024**3}", "innodb_adaptive_hash_index": "ON"}
    read = yaml.safe_load(rendered(facts(knobs=knobs), "ansible"))
    settings = {"innodb_buffer_pool_size": "2G", "innodb_adaptive_hash_index": "ON"}
    assert read == {"mysqld_settings": settings}
    nothing = facts(candidate="server-default", knobs={})
    assert yaml.safe_load(rendered(nothing, "ansible")) == {"mysqld_settings": {}}


def test_rds_gets_a_request_and_the_name_of_what_it_does_not_allow() -> None:
    knobs = {"innodb_buffer_pool_size": f"{2 * 1024**3}", "innodb_adaptive_hash_index": "ON"}
    text = rendered(facts(knobs={**knobs, "innodb_flush_method": "O_DIRECT"}), "rds")
    assert yaml.safe_load(text)["Parameters"] == [
        {
            "ParameterName": "innodb_buffer_pool_size",
            "ParameterValue": f"{2 * 1024**3}",
            "ApplyMethod": "immediate",
        },
        {
            "ParameterName": "innodb_adaptive_hash_index",
            "ParameterValue": "1",
            "ApplyMethod": "immediate",
        },
    ]
    assert "Not possible on RDS, so left out: innodb_flush_method = O_DIRECT" in text
    assert "RDS documents no parameter group family for MySQL 9.7.4" in text


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (MYSQL_84, "RDS turns innodb_dedicated_server on by itself"),
        (MYSQL_80, "did not let users set it"),
        (MYSQL_80, "innodb_dedicated_server = ON (RDS has it from MySQL 8.4 on)"),
    ],
)
def test_rds_differs_by_version(server: ServerTraits, said: str) -> None:
    knobs = {"innodb_redo_log_capacity": f"{4 * 1024**3}"}
    if "= ON" in said:
        knobs = {"innodb_dedicated_server": "ON"}
    text = rendered(facts(knobs=knobs, server=server), "rds", acknowledged=Durability.D2)
    assert said in text
