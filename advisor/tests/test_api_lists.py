"""Everything in lists: studies, runs, recommendations and what else is stored, and one by one."""

from __future__ import annotations

import csv
import io
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.tests import factories
from advisor.tests.search_study import searching_study
from advisor.tests.test_api import error
from benchmarks.models import Run, RunState, Sample
from tuning.models import GateVerdict, Recommendation, Slot, Study, StudyState

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"
ONE = ["server-default"]


@pytest.fixture
def api() -> Client:
    token = create_token(factories.make_user("ci", Role.VIEWER), "ci", Role.VIEWER)
    return Client(headers={"Authorization": f"Bearer {token}"})


def ids(api: Client, address: str) -> list[int]:
    return [one["id"] for one in api.get(V1 + address).json()["results"]]


def queries(api: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert api.get(V1 + address).status_code == 200
    return len(asked)


def test_more_rows_take_no_more_queries(api: Client) -> None:
    queries(api, "studies/")  # the first request of a token notes its use
    study = factories.measured_study(blocks=1)
    address = f"studies/{study.pk}/"
    before = queries(api, address)
    baseline = study.candidates.get(is_baseline=True)
    study.candidates.exclude(pk=baseline.pk).update(taken_from=baseline)
    assert queries(api, address) == before
    seen = []
    for name in ("driver-1", "driver-2"):
        workload = factories.make_workload(load_host=factories.make_host(name))
        study = factories.make_study(blocks=1, names=ONE, workloads=[workload], gate={})
        GateVerdict.objects.create(study=study, verdict="pass", result={})
        seen.append([queries(api, address) for address in ("studies/", "gates/")])
    assert seen[0] == seen[1]


def test_studies_are_found_by_what_they_are(api: Client) -> None:
    make = partial(factories.make_study, blocks=1, names=ONE)
    first = make(name="Nightly 1", state=StudyState.FINISHED).pk
    other = searching_study().pk
    Study.objects.filter(pk=other).update(name="b", template="compare")
    last = make(name="a nightly", state=StudyState.FAILED).pk
    elsewhere = factories.make_device(data_dir="/srv/elsewhere")
    Study.objects.get(pk=other).devices.set([elsewhere])
    for query, found in {
        "": [last, other, first],
        "name=NIGHTLY": [last, first],
        "state=failed&state=finished": [last, first],
        "template=compare": [other],
        f"device={elsewhere.pk}": [other],
        "searches=true": [other],
        "searches=false": [last, first],
        "group=4711": [],
        "host=db-host-1&name=b": [other],
    }.items():
        assert ids(api, f"studies/?{query}") == found, query
    assert "NUL" in error(api.get(f"{V1}studies/?name=%00"), 400)["message"]


def test_runs_are_listed_and_shown_one_by_one(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    study = factories.measured_study(blocks=1, fails=["whitepaper-1"])
    other = factories.make_study(blocks=1, state=StudyState.RUNNING)
    factories.begin(other)
    page = api.get(f"{V1}runs/?study={study.pk}").json()
    slots = list(Slot.objects.filter(study=study).order_by("-run_id"))
    assert [one["id"] for one in page["results"]] == [slot.run_id for slot in slots]
    assert page["results"][0]["candidate"] == slots[0].candidate.name
    assert {one["study_id"] for one in page["results"]} == {study.pk}
    void = factories.disturb(slots[0])
    config = slots[0].candidate.config.hash
    same = Run.objects.filter(config__hash=config).count()
    for query, number in {
        "": Run.objects.count(),
        "state=no_start": 1,
        "state=running&state=no_start": 2,
        f"config={config}": same,
        f"config={config[:12]}&study={study.pk}": sum(
            slot.candidate.config.hash == config for slot in slots
        ),
        "disturbed=true": 1,
        f"state={void.state}": 1,
        f"device={study.devices.get().pk}&study={study.pk}": len(slots),
        "device=4711": 0,
        "host=db-host-1&disturbed=false": Run.objects.count() - 1,
    }.items():
        assert api.get(f"{V1}runs/?{query}").json()["count"] == number, query
    with django_assert_max_num_queries(6):
        api.get(f"{V1}runs/")
    good = Run.objects.filter(slot__study=study, state=RunState.OK)[0]
    Sample.objects.bulk_create(factories.make_samples(good))
    one = api.get(f"{V1}runs/{good.pk}/")
    assert one.json()["samples"] == good.samples.count() > 0


def test_a_series_is_json_or_csv_and_a_log_has_no_password(
    api: Client,
) -> None:
    run = Run.objects.filter(slot__study=factories.measured_study(blocks=1))[0]
    Sample.objects.bulk_create(factories.make_samples(run))
    found = api.get(f"{V1}runs/{run.pk}/series/").json()
    assert found["second"] == [one.second for one in run.samples.all()]
    text = api.get(f"{V1}runs/{run.pk}/series/?format=csv")
    lines = list(csv.DictReader(io.StringIO(text.content.decode())))
    read = [float(line["completed"]) if line["completed"] else None for line in lines]
    assert read == found["completed"]
    assert "attachment" in text["Content-Disposition"]
    refused = error(api.get(f"{V1}runs/{run.pk}/series/?format=xml"), 400)
    assert refused["field"] == "format"
    run.samples.all().delete()
    assert set(map(str, api.get(f"{V1}runs/{run.pk}/series/").json().values())) == {
        str(run.pk),
        "[]",
    }
    Run.objects.filter(pk=run.pk).update(log_tail="option p with value geheim99\nstarted\n")
    log = api.get(f"{V1}runs/{run.pk}/log/")
    assert log["Content-Type"].startswith("text/plain")
    assert b"geheim99" not in log.content
    assert b"started" in log.content


def test_recommendations_of_all_studies_stand_in_one_list(api: Client) -> None:
    studies = [factories.measured_study(blocks=1) for _ in range(2)]
    page = api.get(f"{V1}recommendations/").json()
    assert [one["study_id"] for one in page["results"]] == [one.pk for one in studies[::-1]]
    first = Recommendation.objects.get(study=studies[0])
    for query, found in {
        f"study={studies[0].pk}": [first.pk],
        f"device={first.device_id}&study={studies[0].pk}": [first.pk],
        "device=4711": [],
        "durability=D2": [],
        "confirmed=true": [],
        "confirmed=false&host=db-host-1": [one["id"] for one in page["results"]],
    }.items():
        assert ids(api, f"recommendations/?{query}") == found, query


# --- side by side --------------------------------------------------------------------------------


def test_sides_are_compared_as_on_the_page(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    study = factories.measured_study(blocks=2)
    names = ("server-default", "whitepaper-2", "whitepaper-3")
    wanted = [study.candidates.get(name=name) for name in names]
    query = "&".join(f"side=candidate-{one.pk}" for one in wanted)
    address = f"{V1}comparison/"
    with django_assert_max_num_queries(22):
        found = api.get(f"{address}?{query}&side=run-999999").json()
    assert [one["config"] for one in found["sides"]] == [one.config.hash for one in wanted]
    assert [one["runs"] for one in found["sides"]] == [4, 2, 2]
    assert (found["differs"], found["missing"]) == ({}, {"run-999999": "has no successful run"})
    first, second, third = found["figures"]["throughput"]
    assert first["change"] is None
    assert second["change"]["ratio"] == pytest.approx(6890 / 6120, rel=0.1)
    assert third["better"] is True
    assert found["knobs"]["innodb_io_capacity"][1:] == [
        one.config.knobs["innodb_io_capacity"] for one in wanted[1:]
    ]
    assert error(api.get(address), 400)["code"] == "invalid_request"
    assert error(api.get(f"{address}?side=run-999999"), 404)
