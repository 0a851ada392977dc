"""Requests: what they refuse beside which field, and that they survive being stored."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.drivers.workloads import oltp, tpcc
from tuning.actions.table import ProbeFields
from tuning.catalogue.costs import CostKind
from tuning.errors import InvalidRequest
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest, InspectionRequest
from tuning.requests.fields import Request, read_request
from tuning.requests.gate import GateRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import GroupRequest, StudyRequest
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.study_templates.loader import load_template

GB = 10**9
OLTP = {"workload": "oltp_read_write"}


@pytest.mark.parametrize(
    ("kind", "content", "fields"),
    [
        (StudyRequest, {"blocks": 0}, ["blocks"]),
        (StudyRequest, {"blocks": "5"}, ["blocks"]),
        (StudyRequest, {"connections": []}, ["connections"]),
        (StudyRequest, {"connections": [8, 8]}, ["connections"]),
        (StudyRequest, {"connections": "8;32"}, ["connections"]),
        (StudyRequest, {"connections": [8, 0]}, ["connections[1]"]),
        (StudyRequest, {"connections": list(range(1, 22))}, ["connections"]),
        (StudyRequest, {"measure_s": 10**9}, ["measure_s"]),
        (StudyRequest, {"budget_minutes": 0, "seed": -1}, ["budget_minutes", "seed"]),
        (StudyRequest, {"translate_from": "oracle 23"}, ["translate_from"]),
        (StudyRequest, {"allow": "speed"}, ["allow"]),
        (StudyRequest, {"data_size": "200"}, ["data_size"]),
        (StudyRequest, {"recovery": "yes"}, ["recovery"]),
        (StudyRequest, {"devices": [{}] * 21}, ["devices"]),
        (StudyRequest, {"devices": [{}, {"path": "srv"}]}, ["devices[1].path"]),
        (StudyRequest, {"devices": [{"id": 1, "path": "/srv"}]}, ["devices[0]"]),
        (StudyRequest, {"devices": [{"emulate": "floppy"}]}, ["devices[0].emulate"]),
        (StudyRequest, {"devices": [{"emulate": "hdd", "kind": "nvme"}]}, ["devices[0].kind"]),
        (StudyRequest, {"configs": [{"name": "", "text": ""}]}, ["configs[0].name"]),
        (StudyRequest, {"configs": [{"name": "a", "text": ""}] * 21}, ["configs"]),
        (StudyRequest, {"load_host": ["one"]}, ["load_host"]),
        (StudyRequest, {"device": "/srv"}, ["device"]),
        (
            StudyRequest,
            {"search": {"knobs": 0, "keep": ["p95>=5"]}},
            ["search.knobs", "search.keep"],
        ),
        (GroupRequest, {"hosts": ["a"]}, ["hosts"]),
        (GroupRequest, {"hosts": ["a", "a"]}, ["hosts"]),
        (GroupRequest, {}, ["hosts"]),
        (GateRequest, {"name": "", "candidate": {"stored": "x"}}, ["name"]),
        (GateRequest, {"name": "x", "candidate": {}}, ["candidate"]),
        (
            GateRequest,
            {"name": "x", "candidate": {"stored": "x", "config": {"name": "a", "text": ""}}},
            ["candidate.stored"],
        ),
        (
            GateRequest,
            {"name": "x", "candidate": {"knobs": {f"name_{n}": "1" for n in range(61)}}},
            ["candidate.knobs"],
        ),
        (
            GateRequest,
            {"name": "x", "candidate": {"stored": "x"}, "limits": ["p95 +5%", "p95 +6%"]},
            ["limits"],
        ),
        (ProbeFields, {"seconds": 61}, ["seconds"]),
        (StudyRequest, {"workload": "oltp_insert", "tables": 2}, ["workload"]),
        (StudyRequest, {"tables": 2, "table_size": 9}, ["tables", "table_size"]),
        (
            StudyRequest,
            OLTP | {"warehouses": 1, "driver": "tpcc-mysql", "memory": "1G", "profile": 1},
            ["driver", "warehouses", "memory", "profile"],
        ),
        (
            GateRequest,
            OLTP | {"name": "x", "candidate": {"stored": "x"}, "warehouses": 1},
            ["warehouses"],
        ),
        (InspectionRequest, {"server": "mysqld"}, ["server"]),
    ],
)
def test_every_fault_is_named_with_the_path_of_its_field(
    kind: type[Request], content: dict[str, Any], fields: list[str]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_request(kind, content)
    assert [path for path, _ in refused.value.faults] == fields
    assert (refused.value.code, refused.value.field) == ("invalid_request", fields[0])


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("pinned", ["a"]),
        ("pinned", ["a=1", "A=2"]),
        ("bounds", ["a=1"]),
        ("bounds", ["a=1..2", "a=1..3"]),
        ("keep", ["p95=5"]),
        ("keep", ["throughput<=5"]),
        ("keep", ["p95<=5", "p95<=6"]),
        ("keep", ["p95<=0"]),
        ("keep", ["p95<=1e13"]),
        ("keep", ["p95<=1e"]),
        ("keep", ["latency<=5"]),
        ("keep", ["recovery>=60"]),
        ("keep", ["recovery<=601"]),
        ("knobs", "-3"),
        ("objective", "latency"),
    ],
)
def test_a_text_that_cannot_be_meant_is_refused(field: str, text: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_request(SearchRequest, {field: text})
    assert refused.value.field.partition(".")[0] == field


def test_texts_become_values() -> None:
    search = read_request(
        SearchRequest,
        {
            "knobs": "a, B-c,a",
            "pinned": ["innodb-flush-method = O_DIRECT"],
            "bounds": "innodb_io_capacity=1G .. 4G\n",
            "keep": "p95 <= 50, path-length<=2.5, recovery<=60",
        },
    )
    assert search.knobs == ("a", "b_c")
    assert search.pinned == {"innodb_flush_method": "O_DIRECT"}
    assert search.bounds == {"innodb_io_capacity": ("1G", "4G")}
    limits = {Metric.P95: 50.0, Metric.SERVER_PATH_LENGTH: 2.5e6}
    assert search.aim == Aim(Metric.THROUGHPUT, limits, 60.0)
    assert read_request(SearchRequest, search.typed) == search
    assert read_request(SearchRequest, {"knobs": " 12 "}).knobs == 12


def test_a_stored_request_is_read_back() -> None:
    request = StudyRequest(
        devices=[DeviceRequest(id=3)],
        configs=[ConfigText.of("mine", b"[mysqld]\n")],
        connections=[8, 16],
        allow=frozenset({CostKind.OBSERVABILITY}),
        data_size=200 * GB + 1,
        search=SearchRequest(knobs=4, keep={"p95": 50.0}),
    )
    assert read_request(StudyRequest, request.as_json()) == request
    assert set(request.as_json()) == {
        *("devices", "configs", "connections", "allow", "data_size", "search")
    }


def test_a_field_that_is_null_is_left_out() -> None:
    gate = {"name": "x", "candidate": {"stored": "default"}, "host": None, "device": None}
    assert read_request(GateRequest, gate).host == ""
    assert read_request(StudyRequest, {"devices": None, "search": None}) == StudyRequest()


def test_the_sizes_of_a_workload_are_its_own_or_the_usual_ones() -> None:
    template = load_template("compare")
    asked = StudyRequest(workload="oltp_read_only", tables=3, driver="auto")
    assert asked.sizes(template, 2).workload == oltp(
        "oltp_read_only", tables=3, table_size=500_000
    )
    assert StudyRequest().sizes(template, 2).workload == tpcc(template.warehouses)
