"""The files that `advise` and `serve` leave: nothing unsafe that was not acknowledged."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.conf import LazySettings
from rich.console import Console

from advisor.terminal.files import write_files
from advisor.tests import factories
from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export.formats import ExportRequest
from tuning.stored_documents import document_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(tmp_path: Path, settings: LazySettings) -> Path:
    settings.HOME = tmp_path
    return tmp_path


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=80)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_the_recommendation_goes_to_the_home_or_the_named_folder(
    home: Path, console: Console
) -> None:
    study = factories.measured_study(blocks=1)
    write_files(document_of(study), console)
    assert files(home) == [f"study-{study.pk}.cnf"]
    there = home / "there.cnf"
    write_files(document_of(study), console, output=there, exports=[("sql", home / "set.sql")])
    assert "innodb_io_capacity = 4000" in there.read_text()
    assert "SET PERSIST" in (home / "set.sql").read_text()
    assert f"Recommended my.cnf: {there}" in said(console)


def test_what_was_not_acknowledged_is_not_written_and_how_to_have_it_is_said(
    home: Path, console: Console
) -> None:
    study = factories.unsafe_study(blocks=1)
    write_files(document_of(study), console)
    assert files(home) == [f"study-{study.pk}.cnf"]
    assert "sync_binlog = 0 may lose" in said(console)
    assert "start with --acknowledge D1" in said(console)
    assert "start with --acknowledge D2" in said(console)


def test_what_was_acknowledged_is_written_and_is_what_output_means(
    home: Path, console: Console
) -> None:
    study = factories.unsafe_study(blocks=1)
    output = home / "mine.cnf"
    write_files(
        document_of(study), console, ExportRequest(acknowledged=Durability.D1), output=output
    )
    assert files(home) == ["mine.cnf", f"study-{study.pk}.cnf"]
    assert "sync_binlog = 0" in output.read_text()
    assert "WARNING" in output.read_text()
    assert "Not written: whitepaper-a is durability class D2" in said(console)


def test_where_nothing_may_be_written_it_is_an_error(home: Path, console: Console) -> None:
    study = factories.unsafe_study(blocks=1)
    study.recommendations.exclude(durability="D2").delete()
    with pytest.raises(TuningError, match="start with --acknowledge D2") as caught:
        write_files(document_of(study), console, output=home / "mine.cnf")
    assert caught.value.code == "durability_not_acknowledged"
    assert files(home) == []


@pytest.mark.long
def test_each_number_of_connections_has_a_file_of_its_own(home: Path, console: Console) -> None:
    workloads = [factories.make_workload(connections=number) for number in (8, 32)]
    study = factories.raced_study(workloads=workloads)
    write_files(document_of(study), console)
    kept = f"study-{study.pk}"
    assert files(home) == [f"{kept}-32-connections.cnf", f"{kept}-8-connections.cnf"]
    exports = [("sql", home / "set.sql")]
    write_files(document_of(study), console, output=home / "my.cnf", exports=exports)
    for number in (8, 32):
        assert (home / f"my-{number}-connections.cnf").exists()
        assert (home / f"set-{number}-connections.sql").exists()
        place = home / f"my-{number}-connections.cnf"
        assert f"Recommended my.cnf ({number} connections): {place}" in said(console)
