"""Trial starts before a study's runs: refusals cost no run, duplicates are measured once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from celery import current_app

from benchmarks.errors import RunFailed
from benchmarks.models import Run, RunState
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.trial import Trial, try_config
from benchmarks.storage.layout import FOLDER
from benchmarks.tests.made_up_host import this_host
from benchmarks.tests.quick import QUICK
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.readback import effective_losses
from tuning.creation import device_facts
from tuning.creation.create import create_study
from tuning.errors import InvalidConfig
from tuning.models import Candidate, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.study import StudyRequest
from tuning.results.boards import boards_of
from tuning.results.study_rows import StudyRows
from tuning.studies import trials as gatekeeping
from tuning.studies.budget import measurable
from tuning.studies.scheduler import advance_host
from tuning.studies.trials import NothingToCompare, try_candidates
from tuning.tests.fakes import BINARY
from tuning.tests.work import prepare_study

pytestmark = pytest.mark.django_db(transaction=True)

TryConfig = Callable[..., Trial]
ONE = ("one", b"[mysqld]\ninnodb_io_capacity = 5000\n")
SAME = ("same", b"[mysqld]\ninnodb-io-capacity = 5000\nsync_binlog = 1\n")
BAD = ("bad", b"[mysqld]\n# two\ninnodb_io_capacity = 300\n")
DEFAULTS = {"innodb_io_capacity": "10000", "sync_binlog": "1", "innodb_lru_scan_depth": "1024"}


def server(answers: Mapping[str, RunFailed | str] = {}) -> TryConfig:  # never changed
    """A server with defaults that refuses or changes some values of innodb_io_capacity."""

    def try_config(_binary: ServerBinary, options: Mapping[str, str], **_: Any) -> Trial:
        variables = DEFAULTS | dict(options)
        answer = answers.get(variables["innodb_io_capacity"])
        if isinstance(answer, RunFailed):
            raise answer
        if answer is not None:
            variables["innodb_io_capacity"] = answer
        return Trial(variables=variables, log_tail="", seconds=1.5)

    return try_config


NewStudy = Callable[..., Study]


def refusal(outcome: Outcome = Outcome.NO_START) -> RunFailed:
    return RunFailed(outcome, "unknown variable 'innodb_io_capacity'", log_tail="[ERROR] no")


@pytest.fixture
def new_study(host_of_fakes: None, sent: list[Any]) -> NewStudy:
    """Makes a study whose candidates are the defaults and some files."""

    def make(*files: tuple[str, bytes], **values: Any) -> Study:
        configs = [ConfigText.of(*file) for file in files]
        request = StudyRequest(template="compare", configs=configs, blocks=2, **values)
        return create_study(request)

    return make


@pytest.fixture
def prepared(new_study: NewStudy, monkeypatch: pytest.MonkeyPatch) -> NewStudy:
    """Makes a study and has it prepared; `tries` answers its trial starts."""

    def prepare(*files: tuple[str, bytes], tries: TryConfig | None = None, **values: Any) -> Study:
        study = new_study(*files, **values)
        monkeypatch.setattr(gatekeeping, "try_config", tries or server())
        prepare_study(study.pk)
        advance_host(study.host_id)
        study.refresh_from_db()
        return study

    return prepare


def candidate(study: Study, name: str) -> Candidate:
    return study.candidates.get(name=name)


def test_what_the_server_makes_of_a_config_is_kept(prepared: NewStudy) -> None:
    study = prepared(ONE, tries=server({"5000": "4096"}))
    assert study.state == StudyState.RUNNING
    checks = candidate(study, "one").checks
    assert [check["stage"] for check in checks] == ["values", "rules", "server", "read_back"]
    assert all(check["passed"] for check in checks)
    [difference] = checks[3]["differences"]
    assert difference == {
        "name": "innodb_io_capacity",
        "requested": "5000",
        "effective": "4096",
    }
    assert checks[2]["seconds"] == 1.5


HARMLESS = "wait_timeout = 60\ndatadir = /srv/mysql\nplugin_load = x.so\n"


def test_harmless_options_of_the_users_files_are_set_in_every_run(prepared: NewStudy) -> None:
    own = ("own", f"{ONE[1].decode()}{HARMLESS}tmp_table_size = 64M\n".encode("utf-16"))
    other = ("other", SAME[1] + HARMLESS.encode())
    tried = []

    def try_config(binary: ServerBinary, options: Mapping[str, str], **_: Any) -> Trial:
        tried.append(dict(options))
        return server()(binary, options)

    study = prepared(own, other, tries=try_config)
    assert study.applied == {"wait_timeout": "60"}
    assert len(tried) == study.candidates.count()
    assert all(one["wait_timeout"] == "60" for one in tried)
    assert not any(one.keys() & {"datadir", "plugin_load"} for one in tried)
    runs = Run.objects.filter(slot__study=study)
    assert runs
    assert all(run.options["wait_timeout"] == "60" for run in runs)
    # What the files do not share is part of what is compared.
    assert candidate(study, "own").config.knobs["tmp_table_size"] == "64M"
    assert candidate(study, "other").merged_into is None
    stored = candidate(study, "own")
    assert stored.text.encode(stored.encoding) == own[1]
    assert [line["fate"] for line in stored.lines][:2] == ["measured", "applied"]


def test_values_and_rules_are_asked_when_the_study_is_made_and_never_again(
    new_study: NewStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(("odd", b"[mysqld]\ninnodb_buffer_pool_size = 200M\n"))
    for made in study.candidates.all():
        assert [(c["stage"], c["passed"]) for c in made.checks] == [
            ("values", True),
            ("rules", True),
        ]
    before = candidate(study, "odd").checks
    assert any("effective 256M" in note["detail"] for note in before[0]["notes"])
    monkeypatch.setattr("tuning.configs.check.Judge", None)
    monkeypatch.setattr(gatekeeping, "try_config", server())
    prepare_study(study.pk)
    after = candidate(study, "odd").checks
    assert after[:2] == before
    assert [check["stage"] for check in after[2:]] == ["server", "read_back"]


def test_a_refused_candidate_costs_no_run_and_the_others_continue(prepared: NewStudy) -> None:
    study = prepared(ONE, BAD, tries=server({"300": refusal()}))
    assert study.state == StudyState.RUNNING
    bad = candidate(study, "bad")
    assert "unknown variable" in bad.refusal
    failed = next(check for check in bad.checks if not check["passed"])
    assert (failed["stage"], failed["problems"][0]["line"]) == ("server", 3)
    assert failed["log_tail"] == "[ERROR] no"
    assert not Run.objects.filter(config=bad.config).exists()
    assert Run.objects.filter(slot__study=study, state=RunState.QUEUED).count() == 3
    # It has its line on the board all the same, with no outcome of a run.
    row = next(
        row for row in boards_of(StudyRows(study))[0].judgement.ranked if row.name == bad.name
    )
    assert (row.outcome, row.runs, row.failures) == ("", 0, 0)


def test_candidates_with_the_same_effective_values_are_measured_once(prepared: NewStudy) -> None:
    study = prepared(ONE, SAME)
    assert candidate(study, "same").merged_into == candidate(study, "one")
    assert not Run.objects.filter(slot__candidate__name="same").exists()
    assert study.slots.count() == 3
    assert Run.objects.filter(state=RunState.QUEUED).count() == 3


def test_a_value_that_the_server_changes_back_is_the_baseline(prepared: NewStudy) -> None:
    study = prepared(ONE, BAD, tries=server({"300": "10000"}))
    assert candidate(study, "bad").merged_into == candidate(study, "server-default")
    assert candidate(study, "one").merged_into is None


OWN = ("own", b"[mysqld]\ninnodb_dedicated_server = ON\n")


def dedicated(_binary: ServerBinary, options: Mapping[str, str], **_: Any) -> Trial:
    """MySQL 8.0, which takes a method without fsync when it sizes itself."""
    flush = "O_DIRECT_NO_FSYNC" if "innodb_dedicated_server" in options else "fsync"
    variables = DEFAULTS | dict(options) | {"innodb_flush_method": flush}
    return Trial(variables=variables, log_tail="", seconds=1.0)


def test_what_the_server_chooses_below_the_class_of_the_study_is_refused(
    new_study: NewStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(ONE, OWN)
    study.candidates.filter(name="own").update(text="")  # else it is the user's own, and measured
    monkeypatch.setattr(gatekeeping, "try_config", dedicated)
    prepare_study(study.pk)
    study.refresh_from_db()
    refused = candidate(study, "own").refusal
    assert "innodb_flush_method = O_DIRECT_NO_FSYNC" in refused
    assert "class D2" in refused
    assert not Run.objects.filter(slot__candidate__name="own").exists()
    assert study.state == StudyState.RUNNING


def test_the_class_of_a_candidate_is_that_of_what_the_server_runs(prepared: NewStudy) -> None:
    study = prepared(ONE, OWN, durability=Durability.D2, tries=dedicated)
    assert candidate(study, "own").durability == "D2"
    assert candidate(study, "one").durability == "D0"
    assert [board.durability for board in boards_of(StudyRows(study))] == ["D0", "D2"]


@pytest.mark.parametrize(("log_bin", "lost"), [("ON", {"sync_binlog"}), ("OFF", set())])
def test_a_binary_log_that_is_off_loses_nothing(log_bin: str, lost: set[str]) -> None:
    target = ServerTraits(Flavour.MARIADB, (10, 11, 19))
    assert set(effective_losses({"sync_binlog": "0", "log_bin": log_bin}, target)) == lost


def test_identical_configs_are_kept_apart_when_asked_for(prepared: NewStudy) -> None:
    study = prepared(ONE, SAME, keeps_duplicates=True)
    assert candidate(study, "same").merged_into is None
    assert study.slots.count() == 4


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        ({"10000": refusal()}, "baseline_refused", "does not start with the baseline"),
        ({"5000": "10000"}, "nothing_to_compare", "one has the same effective values as server-"),
        ({"5000": refusal()}, "nothing_to_compare", "the server does not take one"),
    ],
)
def test_a_study_with_nothing_left_to_compare_fails_and_says_why(
    answers: dict[str, RunFailed | str],
    code: str,
    words: str,
    prepared: NewStudy,
) -> None:
    study = prepared(ONE, tries=server(answers))
    assert (study.state, study.reason_code) == (StudyState.FAILED, code)
    assert words in study.reason
    assert (study.log_tail == "[ERROR] no") == (code == "baseline_refused")


def test_a_full_device_is_no_fault_of_the_config(prepared: NewStudy) -> None:
    full = refusal(Outcome.DISK_FULL)
    study = prepared(ONE, tries=server({"5000": full}))
    assert (study.state, study.is_paused) == (StudyState.PREPARING, True)
    assert candidate(study, "one").refusal == ""


def test_a_redo_log_without_room_is_the_fault_of_its_config(
    new_study: NewStudy, prepared: NewStudy
) -> None:
    huge = ("huge", b"[mysqld]\ninnodb_io_capacity = 300\ninnodb_redo_log_capacity = 2G\n")
    full = refusal(Outcome.DISK_FULL)
    study = prepared(ONE, huge, tries=server({"300": full}))
    assert study.state == StudyState.RUNNING
    assert candidate(study, "huge").refusal
    most = shutil.disk_usage("/").free // 1024**3 + 100
    too_large = f"[mysqld]\ninnodb_redo_log_capacity = {min(most, 512)}G\n".encode()
    with pytest.raises(InvalidConfig, match=r"huge: .*a redo log of .* does not fit"):
        new_study(ONE, ("huge", too_large))


def test_preparing_again_tries_again_and_changes_nothing(
    new_study: NewStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(ONE, SAME, BAD)
    monkeypatch.setattr(gatekeeping, "try_config", server({"300": refusal()}))
    for _ in range(2):
        try_candidates(
            study, {study.server_id: BINARY}, report=lambda _: None, should_stop=lambda: False
        )
    there = measurable(study.candidates.all())
    assert [found.name for found in there] == ["server-default", "one"]
    assert candidate(study, "same").merged_into == candidate(study, "one")
    assert candidate(study, "bad").refusal


@pytest.mark.server
def test_the_gate_on_a_real_server(
    any_server: ServerBinary,
    shared_folder: Path,
    server_tmp: Path,
    settings: Any,
    new_study: NewStudy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: None)
    monkeypatch.setattr(device_facts, "estimated_directory_bytes", lambda _: 1)
    settings.RUN_DIR = server_tmp
    settings.DEFAULT_DEVICE = server_tmp / "device"
    ours = settings.DEFAULT_DEVICE / FOLDER
    ours.mkdir(parents=True)
    (ours / "datasets").symlink_to(shared_folder / "datasets")
    odd_pool = ("odd", b"[mysqld]\ninnodb_buffer_pool_size = 200M\n")
    default_pool = ("default", b"[mysqld]\ninnodb_buffer_pool_size = 128M\n")
    this_host(servers=[any_server], directories=[settings.DEFAULT_DEVICE])
    study = new_study(odd_pool, default_pool, driver="sysbench")
    steps: list[str] = []
    said: dict[tuple[tuple[str, str], ...], Trial] = {}

    def noting(binary: ServerBinary, options: Mapping[str, str], **more: Any) -> Trial:
        # A config that says nothing of it must be as durable as the study.
        quick = {**QUICK, "innodb_doublewrite": "ON"}
        found = said[(*options.items(),)] = try_config(binary, {**quick, **options}, **more)
        return found

    monkeypatch.setattr(gatekeeping, "try_config", noting)
    try_candidates(
        study, {study.server_id: any_server}, report=steps.append, should_stop=lambda: False
    )
    assert candidate(study, "default").merged_into == candidate(study, "server-default")
    checks = {check["stage"]: check for check in candidate(study, "odd").checks}
    assert all(check["passed"] for check in checks.values())
    differing = [found["effective"] for found in checks["read_back"]["differences"]]
    rounds = any_server.flavour != "mariadb"
    assert differing == ([str(256 * 1024**2)] if rounds else [])
    assert steps[-1].endswith("(3 of 3)")
    assert not list((server_tmp / "device" / "oltp-advisor" / "trials").iterdir())
    # The server would say the same once more.
    monkeypatch.setattr(
        gatekeeping, "try_config", lambda _, options, **__: said[(*options.items(),)]
    )
    only = new_study(default_pool, driver="sysbench")
    with pytest.raises(NothingToCompare):
        try_candidates(
            only, {only.server_id: any_server}, report=steps.append, should_stop=lambda: False
        )
