"""How a search is asked for: in the terminal, the form and the API, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.management import listing
from benchmarks.tests.made_up_host import add_directories, change_host
from tuning.catalogue.costs import CostKind
from tuning.creation import plan
from tuning.creation.create import create_study
from tuning.creation.device_facts import FreeSpace
from tuning.creation.plan import plan_of
from tuning.creation.search import PlannedSearch, search_of
from tuning.errors import BadRequest
from tuning.models import Study
from tuning.requests.configs import ConfigText
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results.ablation import BOUNDED, PINNED, kept_by
from tuning.search_space.space_request import BadSpace
from tuning.statistics.data import Metric
from tuning.strategy.search.search import Search
from tuning.strategy.search.space import Space
from tuning.studies.continuation import strategy_of
from tuning.tests.fakes import MINE

pytestmark = pytest.mark.django_db(transaction=True)

POOL, CAPACITY, METHOD = (
    "innodb_buffer_pool_size",
    "innodb_io_capacity",
    "innodb_flush_method",
)


@pytest.fixture
def host(host_of_fakes: None, sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A host of fakes, which takes messages."""
    monkeypatch.setattr(listing, "inspect_here", Mock())


def space_of(request: StudyRequest) -> PlannedSearch:
    return search_of(plan_of(request))


def search(**values: Any) -> SearchRequest:
    return SearchRequest(**values)


@pytest.mark.usefixtures("host")
def test_a_search_is_stored_with_its_space_and_found_again() -> None:
    wanted = search(
        knobs=(POOL, CAPACITY),
        pinned={METHOD: "O_DIRECT"},
        bounds={CAPACITY: ("200", "4000")},
        objective="p95",
        keep={"throughput": 5000.0},
    )
    request = StudyRequest(template="search", search=wanted, configs=[MINE], seed=7)
    study = Study.objects.get(pk=create_study(request).pk)
    assert study.search is not None
    assert study.budget_minutes == 45
    space = Space.from_json(study.search["space"])
    assert space.names == (POOL, CAPACITY)
    assert space.pinned[METHOD] == "O_DIRECT"
    (capacity,) = [one for one in space.dimensions if one.name == CAPACITY]
    assert (capacity.low, capacity.high) == (200, 4000)
    strategy = strategy_of(study)
    assert isinstance(strategy, Search)
    assert strategy.plan.space == space
    assert strategy.plan.aim.objective is Metric.P95
    assert list(strategy.plan.aim.keep.items()) == [(Metric.THROUGHPUT, 5000.0)]
    assert [one.name for one in study.candidates.all()][:1] == ["server-default"]
    assert "mine" in study.candidates.values_list("name", flat=True)


@pytest.mark.usefixtures("host")
def test_what_a_template_gives_is_held_to_pins_and_bounds_and_own_files_are_not() -> None:
    """It may be recommended as well as what the search makes itself."""
    redo = "innodb_redo_log_capacity"
    wanted = search(
        pinned={redo: "512M"}, bounds={POOL: ("256M", "512M"), CAPACITY: ("200", "20000")}
    )
    study = create_study(StudyRequest(template="search", search=wanted, configs=[MINE]))
    there = {one.name: one for one in study.candidates.all()}
    given = [there.pop(name).config.knobs for name in ("server-default", "mine")]
    assert all(redo not in knobs for knobs in given)
    assert {"advisor", "mysqltuner", "whitepaper-a"} <= there.keys()
    for one in there.values():
        assert one.refusal == ""
        assert one.config.knobs[redo] == str(512 * 1024**2)
        assert 256 * 1024**2 <= int(one.config.knobs[POOL]) <= 512 * 1024**2
        said = {note["name"]: note["detail"] for note in one.notes}
        assert said[redo] == "512M: pinned in this search"
    assert said[POOL] == "512M: within the bounds of this search"
    assert kept_by(study.search or {}) == {redo: PINNED, POOL: BOUNDED}


@pytest.mark.usefixtures("host")
def test_the_space_knows_what_the_data_leaves_on_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "space_on", lambda *_: FreeSpace((), 7 * 1024**3 // 2))
    request = StudyRequest(
        template="search", search=search(), allow=frozenset({CostKind.RECOVERY_TIME})
    )
    study = Study.objects.get(pk=create_study(request).pk)
    assert study.search is not None
    space = Space.from_json(study.search["space"])
    redo = {one.name: one.high for one in space.dimensions}["innodb_redo_log_capacity"]
    assert redo <= 7 * 1024**3 // 2
    assert search_of(plan_of(request)).space == space


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"connections": [4, 8]}, "connections"),
        ({"blocks": 4}, "blocks"),
        ({"races": False}, "races"),
        ({"keeps_duplicates": True}, "keeps_duplicates"),
        ({"budget_minutes": 5}, "budget_minutes"),
        ({"configs": [ConfigText.of("search-1", MINE.data)]}, "configs"),
        ({"template": "durability-price", "search": search()}, "template"),
        ({"search": search(knobs=("no_such_knob",))}, "search.knobs"),
        ({"search": search(pinned={"no_such_knob": "1"})}, "search.pinned.no_such_knob"),
        (
            {"search": search(pinned={"innodb_flush_log_at_trx_commit": "2"})},
            "search.pinned.innodb_flush_log_at_trx_commit",
        ),
        ({"search": search(bounds={CAPACITY: ("9000", "100")})}, f"search.bounds.{CAPACITY}"),
        (
            {"search": search(pinned={CAPACITY: "1"}, bounds={CAPACITY: ("1", "9")})},
            f"search.pinned.{CAPACITY}",
        ),
    ],
)
def test_what_no_search_can_be_made_of_is_refused_before_anything_is_stored(
    values: dict[str, Any], field: str
) -> None:
    with pytest.raises((BadRequest, BadSpace)) as refused:
        create_study(StudyRequest(**{"template": "search"} | values))
    assert refused.value.field == field
    assert not Study.objects.exists()


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("aim", "field"),
    [
        ({"objective": "path-length"}, "search.objective"),
        ({"keep": {"path-length": 3.0}}, "search.keep"),
    ],
)
def test_path_lengths_are_refused_where_they_cannot_be_measured(
    aim: dict[str, Any], field: str
) -> None:
    request = StudyRequest(template="search", search=search(**aim))
    assert search_of(plan_of(request)).space.names
    change_host(cpu_hz=None)
    for create in (create_study, space_of):
        with pytest.raises(BadRequest, match="does not report its CPU frequency") as refused:
            create(request)
        assert refused.value.field == field


@pytest.mark.usefixtures("host")
def test_advise_prints_the_space_and_stores_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    add_directories(tmp_path)
    arguments = ["--show-space", "--device", str(tmp_path)]
    call_command("advise", *arguments, "--knobs", f"{POOL},{METHOD}")
    shown = capsys.readouterr().out
    assert "A search changes 2 variables:" in shown
    assert POOL in shown
    assert "68M to " in shown  # sizes that the server keeps as they are
    with pytest.raises(SystemExit) as ended:
        call_command("advise", *arguments, "--bound", f"{POOL}=2G..1G")
    assert ended.value.code == 2
    assert capsys.readouterr().err.strip().endswith("leaves nothing to try (--bound)")
    assert not Study.objects.exists()


@pytest.mark.long
@pytest.mark.usefixtures("host")
def test_the_form_offers_a_search_first_and_shows_its_space(
    admin_client: Client, tmp_path: Path
) -> None:
    add_directories(tmp_path)
    page = admin_client.get("/studies/new/").content.decode()
    assert page.index('value="search" selected') < page.index('value="quick"')
    blank = {"template": "search", "driver": "auto", "durability": "D0", "path": str(tmp_path)}
    asked = blank | {"action": "space", "search_knobs": "3", "search_bounds": f"{POOL}=1G..2G"}
    answer = admin_client.post("/studies/new/", asked)
    assert answer.status_code == 200, answer.context["form"].errors
    assert "3 variables are searched" in answer.content.decode()
    assert "1G to 2G" in answer.content.decode()
    assert not Study.objects.exists()
    for name, value, said in (
        ("search_bounds", f"{POOL}=2G..1G", "leaves nothing to try"),
        ("search_keep", "p95=3", "is not a limit such as"),
        ("search_pinned", "nonsense", "is not name=value"),
        ("search_free", "nonsense", "has no variable nonsense"),
        ("budget_minutes", "3", "too little for a search"),
    ):
        answer = admin_client.post("/studies/new/", blank | {name: value})
        assert answer.status_code == 400
        assert said in " ".join(answer.context["form"].errors[name]), name
    answer = admin_client.post("/studies/new/", blank | {"search_keep": "p95<=50, throughput>=10"})
    assert answer.status_code == 302
    stored = Study.objects.get().search
    assert stored is not None
    assert stored["keep"] == {"p95_ms": 50.0, "throughput": 10.0}


def post(client: Client, path: str, body: Mapping[str, object]) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


@pytest.mark.usefixtures("host")
def test_the_api_takes_a_search_and_shows_it(admin_client: Client) -> None:
    wanted = {
        "knobs": [POOL, CAPACITY],
        "free": ["table_open_cache"],
        "bounds": {CAPACITY: ["200", "4000"]},
        "pinned": {METHOD: "O_DIRECT"},
        "objective": "p95",
        "keep": {"throughput": 4000, "path-length": 2.5},
    }
    space = post(admin_client, "search-space/", {"template": "search", "search": wanted})
    assert space.status_code == 200, space.content
    assert [one["name"] for one in space.json()["dimensions"]] == [
        *(POOL, CAPACITY, "table_open_cache")
    ]
    assert not Study.objects.exists()
    answer = post(admin_client, "studies/", {"template": "search", "search": wanted})
    assert answer.status_code == 201, answer.content
    study = Study.objects.get(pk=answer.json()["id"])
    assert study.search is not None
    assert study.search["objective"] == "p95_ms"
    assert study.search["keep"] == {"throughput": 4000.0, "server_path_length": 2.5e6}
    document = admin_client.get(f"/api/v1/studies/{study.pk}/document/").json()
    assert [one["name"] for one in document["search"]["space"]["dimensions"]] == [
        *(POOL, CAPACITY, "table_open_cache")
    ]
    assert document["search"]["tried"] == []
    bad = {"template": "search", "search": {"bounds": {CAPACITY: ["200"]}}}
    answer = post(admin_client, "studies/", bad)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"].startswith(f"search.bounds.{CAPACITY}")
