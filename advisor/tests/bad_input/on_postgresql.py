"""What PostgreSQL refuses and SQLite takes: text with NUL, numbers and texts beyond a column."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from django.contrib.auth.models import User
from django.test import Client

from advisor.tests import factories
from advisor.tests.bad_input.judging import contents, judge_all
from advisor.tests.bad_input.over_http import text_cases
from benchmarks.tests.made_up_host import made_up_host, with_inventory


def refuse_all(folder: Path) -> None:
    """Over pages, in a database of PostgreSQL that is migrated."""
    client = Client(raise_request_exception=False, headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("root-of-pages"))
    study = factories.measured_study(blocks=1)
    place = folder / "place"
    place.mkdir()
    for host in (study.host, factories.make_host("other-host")):
        with_inventory(host, made_up_host(name=host.name, directories=[place]))
    client.get("/studies/")  # what the first page imports is no case's time
    with patch("celery.Celery.send_task"):
        number, faults = judge_all(text_cases(client, study))
        faults += _not_handled(client)
    assert not faults, f"{len(faults)} of {number}:\n" + "\n".join(faults)
    assert number >= 6


def _not_handled(client: Client) -> list[str]:
    """What is no refusal: a cookie and a form of which only a part counts."""
    before, faults = contents(), []
    answer = client.post("/inspections/", {"field": "server", "server": "", "host": "a\0b"})
    if answer.status_code != 200:
        faults.append(f"POST /inspections/ is answered with {answer.status_code}")
    cookie = r'sessionid="aaaaaaaa\000"'
    stranger = Client(
        raise_request_exception=False, headers={"host": "localhost", "cookie": cookie}
    )
    answer = stranger.get("/studies/")
    if answer.status_code != 302:
        faults.append(f"a cookie with a NUL is answered with {answer.status_code}")
    return faults + ([] if contents() == before else ["rows were written"])
