"""`manage.py host` and `study`: lists on the command line; hosts are drained and undrained."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from advisor.tests import factories
from advisor.tests.test_pages_hosts import fleet, quiet_broker

__all__ = ["quiet_broker"]


pytestmark = pytest.mark.django_db


def test_hosts_and_studies_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    fleet("busy[1]")  # no markup
    factories.make_study(device=factories.make_device(host=factories.make_host("db2")), blocks=0)
    call_command("host", "list")
    told = capsys.readouterr().out
    [line] = [line for line in told.splitlines() if "busy[1]" in line]
    for words in ("Measuring", "block 1", "Quick comparison failed: no room"):
        assert words in line
    assert "its worker was never seen" in told
    call_command("host", "list", "--json")
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["busy[1]", "db2"]
    call_command("study", "list")
    told = capsys.readouterr().out
    for words in ("Which is best?", "Measuring", "no room", "db2", "waiting"):
        assert words in told
    call_command("study", "list", "--host", "db2", "--json")
    assert [one["host"] for one in json.loads(capsys.readouterr().out)] == ["db2"]
    call_command("study", "list", "--limit", "1", "--json")
    assert len(json.loads(capsys.readouterr().out)) == 1
    for wrong in (["--limit", "0"], ["--host", "nobody"]):
        with pytest.raises(SystemExit, match="2"):
            call_command("study", "list", *wrong)
