"""Every action of the table: button, address and subcommand; possible, impossible and effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from advisor import urls
from advisor.access import rules
from advisor.access.roles import Role
from advisor.pages import actions as page_actions
from advisor.pages.actions import action_urls
from advisor.tests import factories
from advisor.tests.test_pages_studies import running_study
from benchmarks.inventory.stored import store_inventory
from benchmarks.models import Device, Host, Inspection, JobState, Probe
from benchmarks.tests.made_up_host import made_up_host
from tuning.actions import table
from tuning.actions.action import DEVICE, HOST, STUDY, Action, Actor, perform, read_fields
from tuning.actions.table import OF_HOSTS
from tuning.errors import BadRequest, TuningError
from tuning.models import ServerProfile, Study, StudyGroup, StudyState
from tuning.requests.configs import ProfileRequest
from tuning.server_profile.tests.made_up import output
from tuning.statistics.gate import GatePlan
from tuning.studies.commands import archive_study, pause_study
from tuning.studies.server_profiles import create_profile

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Case:
    """A row for which the action is possible, what changes then, and a row with the refusal.

    impossible: None of an action that is always possible.
    """

    possible: Callable[[], Any]
    changed: Callable[[Any], bool]
    impossible: Callable[[], Any] | None
    code: str
    fields: dict[str, Any] = field(default_factory=dict)


def ended() -> Study:
    return factories.measured_study(blocks=1)


def paused(study: Study | None = None) -> Study:
    study = study or running_study()
    pause_study(study)
    return study


def archived() -> Study:
    study = ended()
    archive_study(study)
    return study


def unmeasured() -> Study:
    return factories.make_study(state=StudyState.RUNNING, started_at=timezone.now())


def group_of(study: Study) -> StudyGroup:
    group = StudyGroup.objects.create(name="a group")
    Study.objects.filter(pk=study.pk).update(group=group)
    return group


def gate(state: StudyState = StudyState.RUNNING) -> Study:
    return factories.make_study(
        names=factories.NAMES[:2],
        blocks=1,
        gate=GatePlan().as_json(),
        state=state,
        started_at=factories.BEGIN,
    )


def host(**values: Any) -> Host:
    there = factories.make_host("db-host-7")
    Host.objects.filter(pk=there.pk).update(**values)
    there.refresh_from_db()
    store_inventory(there, made_up_host())
    return there


def out_of_use() -> Host:
    return host(retired_at=timezone.now())


def device(**values: Any) -> Device:
    return factories.found_device(**values)


def probe(state: JobState = JobState.QUEUED) -> Probe:
    return Probe.objects.create(device=device(), seconds=50, state=state)


def profile(*, is_used: bool = False) -> ServerProfile:
    row = create_profile(ProfileRequest(text=output()))
    if is_used:
        Study.objects.filter(pk=running_study().pk).update(request={"profile": row.pk})
    return row


def inspections(row: Host) -> bool:
    return Inspection.objects.filter(host=row).exists()


def study_is(**values: Any) -> Callable[[Study], bool]:
    return lambda row: Study.objects.filter(pk=row.pk, **values).exists()


def studies_are(**values: Any) -> Callable[[StudyGroup], bool]:
    return lambda row: row.studies.filter(**values).exists()


def host_is(**values: Any) -> Callable[[Host], bool]:
    return lambda row: Host.objects.filter(pk=row.pk, **values).exists()


CANCELLED = {"stop_request": "cancelled"}
#: "study-ablation" has no possible row here: test_ablation_shown.py measures one first.
CASES: dict[str, Case] = {
    "study-pause": Case(
        running_study, study_is(pause_reason="disk"), ended, "already_ended", {"reason": " disk "}
    ),
    "study-resume": Case(paused, study_is(paused_at=None), running_study, "not_paused"),
    "study-conclude": Case(
        running_study, study_is(concluded_at__isnull=False), unmeasured, "nothing_measured"
    ),
    "study-cancel": Case(running_study, study_is(**CANCELLED), ended, "already_ended"),
    "study-extend": Case(
        factories.raced_study,
        study_is(extended_by=3, state=StudyState.RUNNING),
        running_study,
        "not_finished",
        {"blocks": 3},
    ),
    "study-ablation": Case(unmeasured, lambda _: True, ended, "nothing_confirmed"),
    "study-rename": Case(running_study, study_is(name="a b"), None, "", {"name": " a b "}),
    "study-tag": Case(ended, study_is(tags="x y"), None, "", {"tags": " x, y"}),
    "study-archive": Case(ended, study_is(archived_at__isnull=False), running_study, "not_ended"),
    "study-restore": Case(archived, study_is(archived_at=None), ended, "not_archived"),
    "group-pause": Case(
        lambda: group_of(running_study()),
        studies_are(paused_at__isnull=False),
        lambda: group_of(paused()),
        "already_paused",
    ),
    "group-resume": Case(
        lambda: group_of(paused()),
        studies_are(paused_at=None),
        lambda: group_of(running_study()),
        "not_paused",
    ),
    "group-cancel": Case(
        lambda: group_of(running_study()),
        studies_are(**CANCELLED),
        lambda: group_of(ended()),
        "already_ended",
    ),
    "gate-pause": Case(
        gate,
        study_is(paused_at__isnull=False),
        lambda: paused(gate()),
        "already_paused",
    ),
    "gate-resume": Case(
        lambda: paused(gate()),
        study_is(paused_at=None),
        gate,
        "not_paused",
    ),
    "gate-cancel": Case(
        gate,
        study_is(**CANCELLED),
        lambda: gate(StudyState.FINISHED),
        "already_ended",
    ),
    "host-drain": Case(
        host, host_is(drain_reason="disk"), out_of_use, "host_retired", {"reason": "disk"}
    ),
    "host-undrain": Case(
        lambda: host(drained_at=timezone.now()), host_is(drained_at=None), host, "not_drained"
    ),
    "host-inspect": Case(host, inspections, out_of_use, "host_retired"),
    "host-retire": Case(
        host, host_is(retire_reason="sold"), out_of_use, "already_retired", {"reason": "sold"}
    ),
    "host-unretire": Case(out_of_use, host_is(retired_at=None), host, "not_retired"),
    "dataset-delete": Case(
        lambda: host(), lambda _: True, out_of_use, "host_retired", {"name": "old"}
    ),
    "dataset-prune": Case(host, inspections, out_of_use, "host_retired"),
    "device-probe": Case(
        device,
        lambda row: row.probes.get().seconds == 31,
        lambda: device(retired_at=timezone.now()),
        "device_retired",
        {"seconds": 31},
    ),
    "device-kind": Case(
        device,
        lambda row: Device.objects.get(pk=row.pk).kind == "hdd",
        factories.emulated_device,
        "device_unusable",
        {"kind": "hdd"},
    ),
    "probe-cancel": Case(
        probe,
        lambda row: Probe.objects.get(pk=row.pk).state == JobState.CANCELLED,
        lambda: probe(JobState.OK),
        "already_ended",
    ),
    "profile-delete": Case(
        profile,
        lambda row: not ServerProfile.objects.exists(),
        lambda: profile(is_used=True),
        "profile_in_use",
    ),
}
#: Their possible rows take more than a line: tests of their own measure or store what they need.
ELSEWHERE = {"study-ablation", "dataset-delete"}

REFUSED = pytest.mark.parametrize(
    "action",
    [one for one in table.ACTIONS if CASES[one.url_name].impossible],
    ids=lambda action: action.url_name,
)
POSSIBLE = pytest.mark.parametrize(
    "action",
    [one for one in table.ACTIONS if one.url_name not in ELSEWHERE],
    ids=lambda action: action.url_name,
)


def test_every_action_has_a_case_and_a_rule() -> None:
    names = [action.url_name for action in table.ACTIONS]
    assert sorted(names) == sorted(CASES)
    for action in table.ACTIONS:
        rule = factories.sure(rules.rule_for(action.url_name, "POST"))
        assert rule.needs == Role(action.role)
        assert (rule.own is not None) == action.is_own


@POSSIBLE
def test_a_possible_action_changes_its_row_and_says_so(
    action: Action, admin_client: Client, admin_user: User
) -> None:
    case = CASES[action.url_name]
    row = case.possible()
    address = reverse(action.url_name, args=[row.pk])
    answer = admin_client.post(address, case.fields, follow=True)
    assert answer.status_code == 200
    [said] = answer.context["messages"]
    assert said.level_tag == "info"
    assert str(said).startswith(action.subject.title(row))
    assert case.changed(row)


@REFUSED
def test_an_impossible_action_is_refused_with_its_code(
    action: Action, admin_client: Client, admin_user: User
) -> None:
    case = CASES[action.url_name]
    row = factories.sure(case.impossible)()
    assert action.reason_against(row)
    actor = Actor("ann", admin_user)
    with pytest.raises(Exception, match=r".") as refused:
        perform(action, row, actor, read_fields(action, case.fields))
    assert getattr(refused.value, "code", "") == case.code
    answer = admin_client.post(reverse(action.url_name, args=[row.pk]), case.fields, follow=True)
    [said] = answer.context["messages"]
    assert (said.level_tag, action.label in str(said)) == ("warning", True)


@POSSIBLE
def test_its_page_shows_the_button_to_whom_may_use_it(action: Action) -> None:
    case = CASES[action.url_name]
    row = case.possible()
    address = reverse(action.url_name, args=[row.pk])
    for role in Role:
        client = Client()
        client.force_login(factories.make_user(role.value, role))
        shown = f'action="{address}"' in page_of(client, action, row)
        may = role == Role.ADMINISTRATOR or (role.reaches(Role(action.role)) and not action.is_own)
        assert shown == may, role


def page_of(client: Client, action: Action, row: Any) -> str:
    match action.subject.name:
        case "dataset":
            address = reverse("host-datasets", args=[row.pk])
        case "probe":
            address = reverse("device-detail", args=[row.device_id])
        case subject:
            address = reverse(f"{subject}-detail", args=[row.pk])
    return client.get(address).content.decode()


def test_after_an_action_the_next_button_has_the_focus(admin_client: Client) -> None:
    address = reverse("host-drain", args=[host().pk])
    text = admin_client.post(address, follow=True).content.decode()
    assert text.count("autofocus") == 1
    assert "autofocus" not in admin_client.get(answer_page(address)).content.decode()


def answer_page(address: str) -> str:
    return address.partition("actions/")[0]


@pytest.mark.parametrize("typed", ["0", "", "many", "1000000", "2.5", "9" * 5000])
def test_a_field_out_of_its_bounds_is_refused(admin_client: Client, typed: str) -> None:
    study = ended()
    answer = admin_client.post(
        reverse("study-extend", args=[study.pk]), {"blocks": typed}, follow=True
    )
    [said] = answer.context["messages"]
    assert "blocks: " in str(said)
    with pytest.raises(BadRequest) as refused:
        read_fields(table.find_action("study", "extend"), {"blocks": typed})
    assert refused.value.field == "blocks"


# --- the command line ----------------------------------------------------------------------------


def told(*words: object) -> str:
    out = StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def refused(*words: object) -> tuple[int, str]:
    errors = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(*map(str, words), stdout=StringIO(), stderr=errors)
    assert isinstance(end.value.code, int)
    return end.value.code, errors.getvalue().partition(":")[0]


IN_COMMANDS = [
    one
    for one in table.ACTIONS
    if one.subject in (STUDY, HOST, DEVICE) and one.url_name not in ELSEWHERE
]


@pytest.mark.parametrize("action", IN_COMMANDS, ids=lambda action: action.url_name)
def test_the_command_does_the_same(action: Action) -> None:
    case, subject = CASES[action.url_name], action.subject
    row = case.possible()
    options = [f"--{name}={value}" for name, value in case.fields.items()]
    key = getattr(row, subject.key)
    assert told(subject.name, action.name, key, *options).startswith(subject.title(row))
    assert case.changed(row)


@pytest.mark.parametrize(
    "action",
    [one for one in IN_COMMANDS if CASES[one.url_name].impossible],
    ids=lambda action: action.url_name,
)
def test_the_command_is_refused_with_the_same_code(action: Action) -> None:
    case, subject = CASES[action.url_name], action.subject
    options = [f"--{name}={value}" for name, value in case.fields.items()]
    key = getattr(factories.sure(case.impossible)(), subject.key)
    assert refused(subject.name, action.name, key, *options) == (1, case.code)


def test_the_command_names_what_is_wrong() -> None:
    study = running_study()
    assert refused("study", "pause", 999) == (1, "not_found")
    assert refused("study", "pause", "one") == (1, "not_found")
    assert refused("host", "drain", "nowhere") == (1, "not_found")
    assert refused("study", "extend", study.pk, "--blocks", 0) == (2, "invalid_request")
    assert refused("study", "pause", study.pk, "--reason", "x" * 201) == (2, "invalid_request")
    for wrong in (["extend", "1"], ["stop", "1"], ["pause"]):
        with pytest.raises(CommandError):
            call_command("study", *wrong)


# --- a new line of the table ---------------------------------------------------------------------


def test_an_action_that_is_added_to_the_table_has_button_address_and_subcommand(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def check(row: Host) -> None:
        if row.name != "db-host-7":
            raise TuningError("not_that_host", "only that host can be greeted")

    greeted: list[tuple[str, str]] = []
    greet = replace(
        OF_HOSTS[0],
        name="greet",
        label="Greet host",
        done="was greeted: {reason}",
        check=check,
        run=lambda row, actor, fields: greeted.append((row.name, fields.reason)),
    )
    longer = (*table.ACTIONS, greet)
    monkeypatch.setattr(table, "ACTIONS", longer)
    monkeypatch.setattr(page_actions, "ACTIONS", longer)
    [address] = [one for one in action_urls() if one.name == "host-greet"]
    monkeypatch.setitem(globals(), "urlpatterns", [address, *urls.urlpatterns])
    settings.ROOT_URLCONF = __name__
    monkeypatch.setitem(rules.RULES, "host-greet", rules.RULES["host-drain"])
    row = host()
    text = page_of(admin_client, greet, row)
    assert "Greet host" in text
    posted = admin_client.post(f"/hosts/{row.pk}/actions/greet/", {"reason": "hi"})
    assert posted.status_code == 302
    assert told("host", "greet", row.name, "--reason", "yo") == (
        "Host db-host-7 was greeted: yo.\n"
    )
    assert greeted == [(row.name, "hi"), (row.name, "yo")]
    other = factories.make_host("db-host-8")
    assert "Greet host" not in page_of(admin_client, greet, other)
    assert refused("host", "greet", other.name) == (1, "not_that_host")
