"""A study in a file: written, read on another installation, and whatever is wrong with one."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.access.models import Scope
from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.api.serializers.requests import StudyRequestSerializer
from advisor.api.sparing import Sparing
from advisor.pages.new_study.again import initial_of
from advisor.pages.report.command import command_of
from advisor.tests import factories
from advisor.tests.search_study import searching_study
from advisor.tests.test_api import error
from benchmarks.models import Config, Device, Host, Run, Sample, Server
from tuning.bundles import read
from tuning.bundles.repeat import repeat_request
from tuning.bundles.write import write_bundle
from tuning.models import Candidate, Slot, Study, StudyState
from tuning.results.study_result import StudyResult
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.studies.again import request_again
from tuning.studies.lifecycle import extend_study
from tuning.studies.request import SearchRequest

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"
#: Made by version 0.6.0. It stays as it is: what was written once is to be read for good.
OLD = Path(__file__).with_name("data") / "bundle-1.zip"
Files = dict[str, bytes]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    user = factories.make_user("ann", Role.ADMINISTRATOR)
    return Client(headers={"Authorization": f"Bearer {create_token(user, 'a', Scope.ADMIN)}"})


def measured() -> Study:
    study = factories.measured_study(blocks=1, fails=["whitepaper-1"])
    run = Run.objects.filter(slot__study=study, state="ok").order_by("pk")[0]
    Sample.objects.bulk_create(factories.make_samples(run))
    Run.objects.filter(pk=run.pk).update(log_tail="option p with value geheim99\nready\n")
    Study.objects.filter(pk=study.pk).update(log_tail="option p with value geheim98\n")
    mine = study.candidates.get(name="whitepaper-2")
    mine.lines = factories.LINES
    mine.save()
    return study


def exported(api: Client, study: Study) -> bytes:
    answer: Any = api.get(f"{V1}studies/{study.pk}/bundle/")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
    return b"".join(answer.streaming_content)


def imported(api: Client, data: bytes) -> Any:
    return api.post(f"{V1}bundles/", data, content_type="application/zip")


def parts(data: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Files) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def packed(files: Files, **manifest: Any) -> bytes:
    """The files with a manifest that fits them, but for what is given; None: left out."""
    rest = {name: data for name, data in files.items() if name != "bundle.json"}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in rest.items()}
    document = json.loads(files["bundle.json"]) | {"sha256": sums} | manifest
    document = {name: value for name, value in document.items() if value is not None}
    return zipped(rest | {"bundle.json": json.dumps(document).encode()})


def changed(files: Files, table: str, **values: Any) -> bytes:
    """With other values in the last row of a table."""
    rows = json.loads(files["rows.json"])
    rows[table][-1].update(values)
    return packed(files | {"rows.json": json.dumps(rows).encode()})


def two_studies(files: Files) -> bytes:
    rows = json.loads(files["rows.json"])
    rows["studies"].append(rows["studies"][0] | {"id": 0})
    return packed(files | {"rows.json": json.dumps(rows).encode()})


def without(files: Files, name: str) -> Files:
    return {one: data for one, data in files.items() if one != name}


def stored() -> list[int]:
    tables = (Host, Server, Device, Config, Study, Candidate, Slot, Run, Sample)
    return [table._default_manager.count() for table in tables]


#: Fields of the answers that are an installation's own, or numbers of rows.
OWN = {"id", "device_id", "host", "name", "version"}


def comparable(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: comparable(one) for name, one in document.items() if name not in OWN}
    return [comparable(one) for one in document] if isinstance(document, list) else document


@pytest.mark.long
def test_a_study_says_elsewhere_what_it_says_here(api: Client) -> None:
    study = measured()
    data = exported(api, study)
    assert exported(api, study) == data  # the same study, the same bytes
    answer = imported(api, data)
    assert answer.status_code == 201, answer.content
    copy = Study.objects.get(pk=answer.json()["id"])
    assert (copy.name, copy.state) == (f"{study.name} (from elsewhere)", "finished")
    for part in ("", "ranking/", "results/", "runs/", "recommendation/"):
        here, there = (api.get(f"{V1}studies/{one.pk}/{part}").json() for one in (study, copy))
        if part == "recommendation/":  # the file names the study
            here.pop("my_cnf"), there.pop("my_cnf")
        assert comparable(there) == comparable(here), part
    [run] = Run.objects.filter(slot__study=copy, samples__isnull=False).distinct()
    assert run.samples.count() * 2 == Sample.objects.count()
    assert "geheim99" not in run.log_tail
    assert "ready" in run.log_tail
    again = error(imported(api, data), 400)
    assert again["code"] == "bundle_imported_before"


def test_what_a_bundle_holds(api: Client, tmp_path: Path) -> None:
    study = measured()
    files = parts(exported(api, study))
    assert json.loads(files["study.json"])["ranking"]
    assert b"innodb_io_capacity" in files["configs/002-whitepaper-2.cnf"]
    [log] = [name for name in files if name.startswith("logs/") and b"ready" in files[name]]
    assert b"geheim" not in b"".join(files.values())
    assert files[log.replace("logs", "series").replace(".log", ".csv")].startswith(b"second,")
    assert json.loads(files["fingerprints.json"])
    (tmp_path / "repeat.sh").write_bytes(files["repeat.sh"])
    assert subprocess.run(["sh", "-n", tmp_path / "repeat.sh"], check=False).returncode == 0
    body = json.loads(files["request.json"])
    assert body["seed"] == study.seed
    assert [config["name"] for config in body["configs"]] == ["whitepaper-2"]


@pytest.mark.parametrize("make", [factories.measured_study, searching_study])
def test_the_request_that_repeats_a_study_is_one(make: Callable[[], Study]) -> None:
    body = StudyRequestSerializer(data=repeat_request(make()))
    assert body.is_valid(), body.errors
    body.study_request()


def test_an_extended_study_is_asked_for_again_with_its_first_blocks() -> None:
    study = factories.measured_study()
    asked = study.blocks
    for blocks in (2, 3):
        Study.objects.update(state=StudyState.FINISHED)
        extend_study(study, blocks)
    assert study.blocks == asked + 5
    assert repeat_request(study)["blocks"] == asked
    assert request_again(study).blocks == initial_of(study)["blocks"] == asked
    assert f"--blocks {asked}" in command_of(StudyResult(study))


def test_the_request_that_repeats_a_search_asks_for_the_same() -> None:
    wanted = SearchRequest(
        knobs=3,
        free=("table_open_cache",),
        pinned={"innodb_flush_method": "O_DIRECT"},
        bounds={"innodb_io_capacity": ("200", "4000")},
        aim=Aim(Metric.P95, {Metric.TPMP: 100.0}, 60.0),
        warm_start=False,
    )
    study = searching_study(0, aim=wanted.aim)
    asked = asdict(wanted)
    del asked["aim"]
    study.search = (study.search or {}) | {"asked": json.loads(json.dumps(asked))}
    for apart, recovery in ((True, False), (False, True)):
        study.takes_apart, study.crash_tests = apart, recovery
        body = StudyRequestSerializer(data=repeat_request(study))
        assert body.is_valid(), body.errors
        found = body.study_request()
        assert found.search == wanted
        assert (found.takes_apart, found.recovery) == (apart, recovery)


@pytest.mark.long
def test_what_comes_from_elsewhere_is_only_looked_at(api: Client, client: Client) -> None:
    pk = imported(api, OLD.read_bytes()).json()["id"]
    study = Study.objects.get(pk=pk)
    device = study.devices.get()
    assert study.host.is_retired
    asked: dict[str, dict[str, Any]] = {
        f"studies/{pk}/extend/": {"blocks": 1},
        f"studies/{pk}/take-apart/": {},
        f"devices/{device.pk}/probes/": {},
        f"hosts/{study.host_id}/inspect/": {},
        f"hosts/{study.host_id}/unretire/": {},
        f"hosts/{study.host_id}/drain/": {},
        f"hosts/{study.host_id}/rename/": {"name": "db1"},
        f"devices/{device.pk}/": {"kind": "hdd"},
    }
    for address, body in asked.items():
        ask = api.patch if "kind" in body else api.post
        answer = ask(V1 + address, body, content_type="application/json")
        code = error(answer, 400)["code"]
        assert code in ("from_elsewhere", "device_retired"), (address, code)
    client.force_login(factories.make_user("boss", Role.ADMINISTRATOR))
    for page, button in (
        (f"/devices/{device.pk}/", "Set kind"),
        (f"/hosts/{study.host_id}/", "Rename"),
        (f"/studies/{pk}/", "Extend study"),
        (f"/studies/{pk}/", "Run again"),
    ):
        assert button not in client.get(page).content.decode(), page
    refused = client.post(f"/devices/{device.pk}/kind/", {"kind": "hdd"})
    assert refused.status_code == 400
    kept = Device.objects.get(pk=device.pk)
    assert (kept.kind, Host.objects.get(pk=study.host_id).drained_at) == (device.kind, None)
    client.force_login(factories.make_user("viewer", Role.VIEWER))
    for page in (
        f"/studies/{pk}/",
        f"/runs/{study.slots.all()[0].run_id}/",
        f"/devices/{device.pk}/",
        f"/hosts/{study.host_id}/",
    ):
        assert "<strong>Imported.</strong>" in client.get(page).content.decode(), page
    assert api.get(f"{V1}device-comparison/").json()["run_sets"] == []
    for page in ("/", "/studies/", "/hosts/"):
        assert "(from elsewhere" in client.get(page).content.decode(), page


def test_a_bundle_is_made_in_pieces_and_slowly_while_this_host_measures(
    api: Client, settings: Any
) -> None:
    study = measured()
    settings.HOST_NAME = study.host.name
    rests: list[float] = []
    seconds = count(0.0, 0.5)
    sparing = Sparing(clock=lambda: next(seconds), sleep=rests.append)
    write_bundle(study, {}, io.BytesIO(), sparing.rest)
    assert len(rests) > 10
    assert set(rests) == {0}
    factories.begin(factories.make_study(state=StudyState.RUNNING, blocks=1))
    rests.clear()
    sparing.rest()
    sparing.rest()
    sparing.rest()
    assert rests[-1] == pytest.approx(0.5 * 9)


def test_a_study_that_goes_on_has_no_bundle(api: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    address = f"{V1}studies/{study.pk}/bundle/"
    assert error(api.get(address), 409)["code"] == "study_running"
    # Its last run is still stopping.
    factories.begin(study)
    Study.objects.filter(pk=study.pk).update(state=StudyState.CANCELLED)
    assert error(api.get(address), 409)["code"] == "study_running"


def test_an_old_bundle_is_still_read(api: Client) -> None:
    answer = imported(api, OLD.read_bytes())
    assert answer.status_code == 201, answer.content
    ranking = api.get(f"{V1}studies/{answer.json()['id']}/ranking/").json()
    assert ranking[0]["rank"] == 1
    assert ranking[0]["tpmP"] == pytest.approx(8500, rel=0.1)


@pytest.mark.long
def test_the_load_hosts_of_a_study_go_with_it(api: Client) -> None:
    """Also that of a bundle from before there could be several."""
    study = measured()
    driving = [Host.objects.create(name=name) for name in ("a", "b")]
    for workload in study.workloads.all():
        workload.load_hosts.set(driving)
        workload.load_key = "+".join(str(host.pk) for host in driving)
        workload.save()
    files = parts(exported(api, study))
    assert json.loads(files["request.json"])["load_host"] == ["a", "b"]
    rows = json.loads(files["rows.json"])
    for one in rows["workloads"]:
        assert one.pop("load_hosts") == [host.pk for host in driving]
        one["load_host"] = driving[1].pk
    older = packed(files | {"rows.json": json.dumps(rows).encode()})
    for data, names in ((packed(files), ["a", "b"]), (older, ["b"])):
        answer = imported(api, data)
        assert answer.status_code == 201, answer.content
        copy = Study.objects.get(pk=answer.json()["id"])
        for workload in copy.workloads.all():
            found = [host.imported or {} for host in workload.load_hosts_in_order]
            assert [one["host"] for one in found] == names
            assert workload.load_key


DAMAGED: dict[str, Callable[[Files], bytes]] = {
    "nothing": lambda _: b"",
    "no zip": lambda _: b"PK\3\4 and then something else",
    "cut off": lambda files: packed(files)[:-40],
    "no manifest": lambda files: zipped(without(files, "bundle.json")),
    "another format": lambda files: packed(files, format="x"),
    "no maker": lambda files: packed(files, made_by=None),
    "no sums": lambda files: packed(files, sha256=None),
    "a changed file": lambda files: zipped(files | {"study.json": b"{}"}),
    "a file less": lambda files: zipped(without(files, "study.json")),
    "a file more": lambda files: zipped(files | {"more.txt": b"x"}),
    "a way out": lambda files: packed(files | {"../../etc/cron.d/x": b"x"}),
    "a path": lambda files: packed(files | {"/etc/cron.d/x": b"x"}),
    "no rows": lambda files: packed(without(files, "rows.json")),
    "rows that are none": lambda files: packed(files | {"rows.json": b"[]"}),
    "deep rows": lambda files: packed(files | {"rows.json": b"[" * 100_000 + b"]" * 100_000}),
    "no number": lambda files: changed(files, "runs", tpmP=float("nan")),
    "no number, in words": lambda files: changed(files, "runs", tpmP="nan"),
    "a NUL": lambda files: changed(files, "studies", reason="a\0b"),
    "half a character": lambda files: changed(files, "studies", reason="\ud800"),
    "a study that runs": lambda files: changed(files, "studies", state="running"),
    "a run that waits": lambda files: changed(files, "runs", state="queued"),
    "an unknown state": lambda files: changed(files, "runs", state="splendid"),
    "a link to nowhere": lambda files: changed(files, "slots", run=0),
    "another's hash": lambda files: changed(files, "configs", knobs={"x": "1"}),
    "a long name": lambda files: changed(files, "studies", name="x" * 999),
    "checks that are none": lambda files: changed(files, "candidates", checks=[7]),
    "two studies": two_studies,
    "a series of words": lambda files: packed(
        files | {next(name for name in files if "series/" in name): b"second\nx\n"}
    ),
}


@pytest.mark.long
def test_whatever_is_wrong_nothing_is_stored(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    files = parts(OLD.read_bytes())
    before = stored()
    for what, make in DAMAGED.items():
        refused = error(imported(api, make(files)), 400)
        assert (what, refused["code"]) == (what, "bundle_damaged")
        assert stored() == before, what
    newer = error(imported(api, packed(files, version=2)), 400)
    assert newer["code"] == "bundle_version"
    # A size that is a lie is not believed.
    bomb = packed(files | {"bomb": b"0" * 3_000_000})
    end = bomb.rindex(b"bomb") - 46
    lie = bomb[: end + 24] + (100).to_bytes(4, "little") + bomb[end + 28 :]
    assert error(imported(api, lie), 400)["code"] == "bundle_damaged"
    for name, limit in (("MAX_BYTES", 2_000_000), ("MAX_FILE_BYTES", 1000), ("MAX_ENTRIES", 3)):
        with monkeypatch.context() as patch:
            patch.setattr(read, name, limit)
            assert error(imported(api, bomb), 400)["code"] == "bundle_too_large", name
    assert stored() == before


def test_only_administrators_import_and_only_zips(api: Client) -> None:
    user = factories.make_user("op", Role.OPERATOR)
    other = Client(headers={"Authorization": f"Bearer {create_token(user, 'o', Scope.RUN)}"})
    assert error(imported(other, OLD.read_bytes()), 403)["code"] == "permission_denied"
    answer = api.post(f"{V1}bundles/", {}, content_type="application/json")
    assert error(answer, 415)["code"] == "unsupported_media_type"


def test_the_commands_write_and_read_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("advisor.management.commands.bundle.prepare_database", lambda: None)
    study = measured()
    path = tmp_path / "study.zip"
    call_command("bundle", "export", str(study.pk), str(path))
    call_command("bundle", "import", str(path))
    assert "(from elsewhere)" in capsys.readouterr().out
    assert Study.objects.count() == 2
    for arguments, code in (
        (("export", str(study.pk), str(path)), "file_failed"),
        (("export", "4711", str(tmp_path / "x")), "not_found"),
        (("import", str(path)), "bundle_imported_before"),
        (("import", str(tmp_path / "x")), "file_failed"),
    ):
        with pytest.raises(SystemExit) as ended:
            call_command("bundle", *arguments)
        assert (ended.value.code, code in capsys.readouterr().err) == (1, True), arguments
    assert not (tmp_path / "x").exists()
