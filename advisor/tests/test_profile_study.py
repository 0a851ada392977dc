"""A study for a profiled server: its config is the baseline, its figures make the candidates."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client

from advisor.management import listing
from tuning.creation.create import create_study
from tuning.creation.plan import plan_of
from tuning.creation.preview import preview_of
from tuning.errors import BadRequest, InvalidConfig
from tuning.models import ServerProfile, Study
from tuning.requests.configs import ConfigText, ProfileRequest
from tuning.requests.study import StudyRequest
from tuning.scale_model.sizes import GB
from tuning.server_profile.tests.made_up import output
from tuning.studies.server_profiles import create_profile

pytestmark = pytest.mark.django_db(transaction=True)

VERSION = {"version": "9.7.4"}
MINE = ConfigText(name="mine", text="[mysqld]\ninnodb_buffer_pool_size = 8G\n")


@pytest.fixture(autouse=True)
def host(host_of_fakes: None, sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A host on which memory can be limited."""
    monkeypatch.setattr(listing, "inspect_here", lambda *_, **__: None)


def stored(text: str = "", memory: int | None = 16 * GB) -> ServerProfile:
    return create_profile(ProfileRequest(text=text or output(VERSION), memory=memory))


def asked(row: ServerProfile, **values: Any) -> StudyRequest:
    return StudyRequest(**{"template": "your-server", "profile": row.pk, **values})


def test_the_config_of_the_server_is_the_baseline_in_its_proportion() -> None:
    study = Study.objects.get(pk=create_study(asked(stored())).pk)
    baseline = study.candidates.get(is_baseline=True)
    assert (baseline.name, baseline.position) == ("my-server", 0)
    assert study.scale_model is not None
    assert study.scale_model["memory_bytes"] == 16 * GB
    # 8 GiB of pool for 80 GB of data, beside 1 GB of data.
    assert 100e6 < int(baseline.config.knobs["innodb_buffer_pool_size"]) < 115e6
    assert baseline.config.knobs["innodb_io_capacity"] == "200"
    names = list(study.candidates.values_list("name", flat=True))
    assert {"server-default", "advisor", "profile-redo", "profile-pool", "profile-all"} < set(
        names
    )


def test_a_candidate_is_the_config_with_one_change_and_says_which_figure_asks_for_it() -> None:
    study = create_study(asked(stored()))
    baseline = study.candidates.get(is_baseline=True).config.knobs
    redo = study.candidates.get(name="profile-redo")
    changed = {name for name, value in redo.config.knobs.items() if baseline.get(name) != value}
    assert changed == {"innodb_redo_log_capacity"}
    assert "the log of 104.9 MB turns over every 9.0 s" in redo.source
    assert any("turns over" in note["detail"] for note in redo.notes)


def test_connections_are_those_at_peak_as_far_as_the_host_can_drive_them() -> None:
    plan = plan_of(asked(stored()))
    most = 16 * plan.inventory.logical_cpus
    assert plan.sizes.connections == (min(180, most),)
    assert any("180 connections at peak" in one for one in preview_of(plan).from_profile)
    assert plan_of(asked(stored(), connections=[4])).sizes.connections == (4,)


def test_the_file_of_the_user_takes_the_place_of_the_variables() -> None:
    study = create_study(asked(stored(), configs=[MINE]))
    assert study.candidates.get(is_baseline=True).name == "mine"
    assert not study.candidates.filter(name="my-server").exists()
    assert preview_of(plan_of(asked(stored(), configs=[MINE]))).candidates == (
        study.candidates.count()
    )


def test_a_config_is_the_baseline_without_a_profile_too() -> None:
    request = StudyRequest(
        template="compare", configs=[MINE], baseline="mine", data_size=80 * GB, memory=16 * GB
    )
    study = create_study(request)
    assert study.candidates.get(is_baseline=True).name == "mine"
    with pytest.raises(BadRequest) as refused:
        create_study(request.model_copy(update={"baseline": "other"}))
    assert refused.value.field == "baseline"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"profile": 999}, "profile"),
        ({"translate_from": "mysql 5.7"}, "translate_from"),
        ({"translate_from": "mariadb 10.11"}, "translate_from"),
        ({"memory": 4 * GB}, "memory"),
    ],
)
def test_what_contradicts_the_profile_is_refused_beside_its_field(
    values: dict[str, Any], field: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        create_study(asked(stored(), **values))
    assert refused.value.field == field
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("innodb_buffer_pool_size = 6G", "6.44 GB here, and the profile read 8.59 GB"),
        ("query_cache_size = 64M", "MySQL 9.7.4 does not have it"),
        ("query_cache_size = 64M  # loose", "MySQL 9.7.4 does not have it"),
        ("innodb_log_file_size = 1G", "the profile or this file is of another one"),
    ],
)
def test_a_file_that_the_profiled_server_does_not_run_with_is_refused_beside_it(
    admin_client: Client, text: str, words: str
) -> None:
    row = stored()
    mine = ConfigText(name="mine", text=f"[mysqld]\n{text}\n")
    posted = {"template": "your-server", "durability": "D0", "profile": row.pk}
    posted |= {"config_name": "mine", "config_text": mine.text}
    for action, status in (("", 400), ("preview", 200)):
        page = admin_client.post("/studies/new/", posted | {"action": action})
        assert (page.status_code, words in html.unescape(page.content.decode())) == (status, True)
    with pytest.raises(InvalidConfig, match=words):
        create_study(asked(row, configs=[mine]))
    assert not Study.objects.exists()
    create_study(asked(row, configs=[mine], baseline="my-server"))


def test_lines_that_a_server_rounds_ignores_or_does_not_read_contradict_no_profile() -> None:
    text = "[mysqld]\ninnodb_buffer_pool_size = 8190M\nloose_query_cache_size = 1M\n"
    mine = ConfigText(name="mine", text=f"{text}[mysqld-5.7]\nquery_cache_size = 1M\n")
    assert create_study(asked(stored(), configs=[mine])).pk


def test_memory_below_the_pool_of_a_file_is_refused_without_a_profile_too() -> None:
    with pytest.raises((BadRequest, InvalidConfig), match="buffer_pool_size"):
        create_study(
            StudyRequest(
                template="your-server",
                configs=[MINE],
                baseline="mine",
                data_size=80 * GB,
                memory=4 * GB,
            )
        )


@pytest.mark.parametrize(
    ("line", "variable", "asked_for", "binary_log"),
    [
        ("", "ON", "auto", "default"),
        ("", "OFF", "auto", "off"),
        ("skip-log-bin", "ON", "auto", "off"),
        ("log_bin = shop-bin", "OFF", "auto", "default"),
        ("skip-log-bin", "OFF", "on", "default"),
        ("", "ON", "off", "off"),
    ],
)
def test_the_binary_log_is_as_asked_else_as_in_the_file_else_as_in_the_profile(
    line: str, variable: str, asked_for: str, binary_log: str
) -> None:
    row = stored(output(VERSION | {"log_bin": variable}))
    configs = [ConfigText(name="mine", text=f"{MINE.text}{line}\n")] if line else []
    study = create_study(asked(row, configs=configs, binary_log=asked_for))
    assert study.binary_log == binary_log  # MySQL's own default is ON


def test_what_the_profile_does_not_know_has_to_be_stated() -> None:
    with pytest.raises(BadRequest, match="does not know the memory") as refused:
        create_study(asked(stored(memory=None)))
    assert refused.value.field == "memory"
    with pytest.raises(BadRequest, match="only of MyISAM"):
        create_study(asked(stored(output(VERSION).replace("\tInnoDB\t", "\tMyISAM\t"))))
    study = create_study(asked(stored(memory=None), memory=16 * GB))
    assert study.candidates.count() > 4


def test_a_profile_of_another_flavour_than_the_servers_of_the_host_is_refused() -> None:
    with pytest.raises(BadRequest, match="has no MariaDB") as refused:
        create_study(asked(stored(output({"version": "10.11.19-MariaDB"}))))
    assert refused.value.field == "profile"


def test_a_server_that_is_less_durable_is_measured_as_it_is() -> None:
    weak = stored(output(VERSION | {"innodb_flush_log_at_trx_commit": "2"}))
    study = create_study(asked(weak))
    assert study.candidates.get(is_baseline=True).durability == "D1"
    assert study.candidates.get(name="profile-redo").durability == "D1"


def test_the_page_asks_for_the_profile_and_shows_at_once_what_it_brings(
    admin_client: Client,
) -> None:
    row, address = stored(), "/studies/new/"
    first = admin_client.get(f"{address}?question=yours&profile={row.pk}").content.decode()
    assert first.index('id="your-server"') < first.index("On which device?")
    assert "turns over every 9.0 s" in html.unescape(first)
    empty = admin_client.get(f"{address}?question=yours").content.decode()
    assert "hoose a profile of your server" in empty
    posted = {"question": "yours", "template": "your-server", "durability": "D0"}
    answer = admin_client.post(address, posted)
    assert (answer.status_code, "choose a profile" in answer.content.decode()) == (400, True)
    typed = {
        "config_name": "mine",
        "config_text": MINE.text,
        "data_size": "80GB",
        "memory": "16GB",
    }
    for more in ({"profile": row.pk}, typed):
        answer = admin_client.post(address, posted | more)
        assert answer.status_code == 302, html.unescape(answer.content.decode())
    names = [one.candidates.get(is_baseline=True).name for one in Study.objects.order_by("pk")]
    assert names == ["my-server", "mine"]
    newest = Study.objects.latest("pk").pk
    again = admin_client.get(f"{address}?again={newest}").content.decode()
    assert 'id="your-server"' in again


def test_a_study_without_a_profile_has_no_steps_and_one_without_an_answer_none_yet(
    admin_client: Client,
) -> None:
    plain = create_study(StudyRequest(template="compare", configs=[MINE]))
    page = admin_client.get(f"/studies/{plain.pk}/server/").content.decode()
    assert "no profile of a server" in page
    found = admin_client.get(f"/api/v1/studies/{plain.pk}/server-steps/")
    assert (found.status_code, found.json()["error"]["field"]) == (400, "profile")
    study = create_study(asked(stored()))
    page = admin_client.get(f"/studies/{study.pk}/server/").content.decode()
    assert "no recommendation yet" in page
    assert (
        f"/studies/{study.pk}/server/"
        in admin_client.get(f"/studies/{study.pk}/").content.decode()
    )
