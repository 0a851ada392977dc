"""Bad input by every way there is is refused with what and why, and nothing is stored.

ADVISOR_INPUT_DRAWN and ADVISOR_INPUT_SEED draw more and other cases. "Under a second" is CPU time
of the process that refuses, from the request on.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from advisor.environment import SETTINGS
from advisor.tests import factories
from advisor.tests.bad_input.environment import bad_settings, setting_cases
from advisor.tests.bad_input.files import config_cases
from advisor.tests.bad_input.judging import Case, judge_all
from advisor.tests.bad_input.over_http import page_cases
from benchmarks.tests.made_up_host import made_up_host, with_inventory
from tuning.models import Study

pytestmark = [pytest.mark.django_db, pytest.mark.long]

#: Settings that are not looked at when a program starts, but where they are used.
TAKE_ANY_TEXT = {
    "ADVISOR_NOTIFY_KEY",
    *("ADVISOR_ALLOWED_HOSTS", "ADVISOR_CGROUP", "ADVISOR_SECRET_KEY", "ADVISOR_SERVER_USER"),
    "TPCC_MYSQL_HOME",
}
DRAWN = int(os.environ.get("ADVISOR_INPUT_DRAWN", "10"))
SEED = int(os.environ.get("ADVISOR_INPUT_SEED", "1"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that could be measured."""
    path = tmp_path / "place"
    path.mkdir()
    return path


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, settings: Settings, place: Path) -> Study:
    """A study that is over, on a host of which the directory is known; nobody measures."""
    monkeypatch.setattr("ninja.throttling.UserRateThrottle.allow_request", lambda *_: True)
    made = factories.measured_study(blocks=1)
    settings.HOST_NAME = made.host.name
    for host in (made.host, factories.make_host("other-host")):
        with_inventory(host, made_up_host(name=host.name, directories=[place]))
    return made


@pytest.fixture(autouse=True)
def unlogged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each of a thousand refusals helps nobody."""
    monkeypatch.setattr(logging.getLogger("django.request"), "disabled", True)


@pytest.fixture
def dice() -> random.Random:
    return random.Random(SEED)


@pytest.fixture
def web(client: Client, admin_user: User) -> Client:
    client.force_login(admin_user)
    return client


def hold(cases: Iterable[Case], at_least: int) -> None:
    """All of them are refused as they should be."""
    number, faults = judge_all(cases)
    assert not faults, f"{len(faults)} of {number}:\n" + "\n".join(faults)
    assert number >= at_least


def test_pages_refuse_and_store_nothing(
    web: Client, study: Study, place: Path, dice: random.Random
) -> None:
    hold(page_cases(web, study, place, dice), 100)


def test_configs_are_refused(dice: random.Random) -> None:
    hold(config_cases(dice, 2 * DRAWN), 30)


def test_settings_are_refused(
    tmp_path: Path, dice: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(setting_cases(tmp_path / "home", dice, monkeypatch, DRAWN), 90)
    assert {setting.name for setting in SETTINGS} - set(bad_settings(dice)) == TAKE_ANY_TEXT
