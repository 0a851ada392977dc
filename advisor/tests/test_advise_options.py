"""The options of `advise` become what the study is asked for."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from advisor.management.commands import advise
from tuning.services.requests import BadRequest, StudyRequest


class Asked(BadRequest):
    """Ends the command where it would start a study."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[StudyRequest]:
    requests: list[StudyRequest] = []

    def keep(request: StudyRequest, *, wake: bool) -> None:
        requests.append(request)
        raise Asked("no study is started in this test")

    monkeypatch.setattr(advise, "create_study", keep)
    return requests


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "races", "confirms", "minutes", "apart"),
    [
        ([], None, None, None, False),
        (["--no-race", "--no-confirm"], False, False, None, False),
        (["--budget", "90", "--keep-duplicates"], None, None, 90, True),
    ],
)
def test_design_options_reach_the_request(
    asked: list[StudyRequest],
    options: list[str],
    races: bool | None,
    confirms: bool | None,
    minutes: int | None,
    apart: bool,
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("advise", *options)
    assert ended.value.code == 2
    [request] = asked
    assert (request.races, request.confirms) == (races, confirms)
    assert (request.budget_minutes, request.keeps_duplicates) == (minutes, apart)


def test_a_budget_is_a_number() -> None:
    with pytest.raises(CommandError, match="--budget"):
        call_command("advise", "--budget", "long")
