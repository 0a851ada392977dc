"""`manage.py host`: hosts are drained and undrained on the command line."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from advisor.tests import factories
from benchmarks.models import Host

pytestmark = pytest.mark.django_db


def test_a_host_is_drained_and_undrained_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    factories.make_host("db-host-1")
    call_command("host", "drain", "db-host-1", "--reason", "a new disk")
    host = Host.objects.get()
    assert host.is_drained
    assert host.drained_by.endswith(" on the command line")
    assert host.drain_reason == "a new disk"
    assert (
        "Host db-host-1 is drained: its current job is finished first" in capsys.readouterr().out
    )
    call_command("host", "undrain", "db-host-1")
    assert not Host.objects.get().is_drained
    for words, error in (
        (("undrain", "db-host-1"), "not_drained: host db-host-1 is not drained"),
        (("drain", "db-host-2"), "not_found: there is no host 'db-host-2'; known: db-host-1"),
    ):
        with pytest.raises(SystemExit, match="1"):
            call_command("host", *words)
        assert error in capsys.readouterr().err
