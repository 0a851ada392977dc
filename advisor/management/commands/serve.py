"""`manage.py serve`, called by `make run`: all processes of one host, until Ctrl-C."""

from __future__ import annotations

import time
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet
from rich.console import Console

from advisor.access.passwords import FIRST_NAME, make_first_account
from advisor.errors import AdvisorError
from advisor.processes.child import end_like_ctrl_c
from advisor.processes.database import migrate
from advisor.processes.supervisor import Supervisor, web_address
from advisor.processes.unavailable import Patience
from advisor.terminal.files import write_files
from advisor.terminal.follow import follow_all
from advisor.terminal.report import print_study
from benchmarks.errors import ExpectedError, NotInspected
from benchmarks.models import Host
from tuning.creation.create import create_study
from tuning.errors import TuningError
from tuning.gate_facts import gate_facts
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.requests.study import StudyRequest
from tuning.stored_documents import document_of
from tuning.studies.current_jobs import current_jobs
from tuning.studies.progress import StudyProgress
from tuning.study_templates.loader import USUAL_TEMPLATE

WATCH_SECONDS = 1.0
# A worker reports before it looks at its host, which takes a second, on a very busy host many.
INSPECTION_SECONDS = 90.0


class Command(BaseCommand):
    help = "Start Redis, a worker and the web server; run a first study; serve until Ctrl-C."
    # To check the addresses of all pages would import them here as well as in the web server.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--no-first-study",
            action="store_true",
            help="start no study where there is none yet, as with ADVISOR_FIRST_STUDY=false",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        end_like_ctrl_c()
        console = Console()
        try:
            migrate()
            with Supervisor(with_web=True) as processes:
                _serve(console, processes, settings.FIRST_STUDY and not options["no_first_study"])
        except ExpectedError as error:
            raise CommandError(f"{error.code}: {error}") from error
        except KeyboardInterrupt:
            console.print("Stopped: all processes started by this command have ended.")


def _serve(console: Console, processes: Supervisor, has_first_study: bool = True) -> None:
    url = f"http://{web_address()}/"
    console.print(f"The dashboard is at {url}", markup=False)
    _print_first_login(console)
    if not Study.objects.exists():
        if has_first_study:
            console.print(f"No studies yet: starting one from the template {USUAL_TEMPLATE!r}.")
            _start_first_study(processes)
        else:
            console.print("No studies yet: start one on a page, through the API or with advise.")
    patience = Patience(lambda text: console.print(text, markup=False, soft_wrap=True))
    while True:
        with patience.outlasts():
            processes.check()
            study = _next_to_follow()
            if study is not None:
                follow_all([study], console, processes.check, leaves=_is_passed_over)
                if study.is_finished:
                    _show(study, console, url)
        time.sleep(WATCH_SECONDS)


def _next_to_follow() -> Study | None:
    """Return the study that this host works on, else the next one."""
    return _at_work() or min(_waiting(), key=attrgetter("turn"), default=None)


def _is_passed_over(study: Study, state: StudyProgress) -> bool:
    """Whether it is paused, or waits for something while this host works on another one."""
    return study.is_paused or (not state.candidate and _at_work() not in (None, study))


def _at_work() -> Study | None:
    here = Host.objects.filter(name=settings.HOST_NAME).values_list("pk", flat=True)
    jobs = current_jobs(list(here))
    return _waiting().filter(pk__in=[job.study for job in jobs.values()]).first()


def _waiting() -> QuerySet[Study]:
    """Studies of other hosts go on by themselves, or wait for a worker that may be gone."""
    there = Study.objects.filter(host__name=settings.HOST_NAME, paused_at=None)
    return there.filter(state__in=ACTIVE_STUDY_STATES)


def _start_first_study(processes: Supervisor) -> None:
    """Start the first study once the new worker has reported what this host has."""
    deadline = time.monotonic() + INSPECTION_SECONDS
    while True:
        try:
            create_study(StudyRequest(host=settings.HOST_NAME))
        except NotInspected:
            if time.monotonic() > deadline:
                raise
            processes.check()
            time.sleep(WATCH_SECONDS)
        else:
            return


def _show(study: Study, console: Console, url: str) -> None:
    page = f"{url}studies/{study.pk}/"
    if study.gate is not None:
        page = f"{url}gates/{study.pk}/"
        facts = gate_facts(study)
        said = f"Gate {study.pk}, {study.name}: {facts.verdict}. {facts.reason}"
        console.print(said, markup=False, soft_wrap=True)
    elif study.state != StudyState.FINISHED:
        reason = f"{study.reason_code}: {study.reason}" if study.reason else study.state
        console.print(f"Study {study.pk} ended without a ranking: {reason}", markup=False)
    else:
        document = document_of(study)
        print_study(document, console)
        try:
            write_files(document, console)
        except (AdvisorError, TuningError) as error:
            console.print(f"Not written: {error}", markup=False)
    console.print(f"Details: {page} (Ctrl-C stops everything)", markup=False, soft_wrap=True)


def _print_first_login(console: Console) -> None:
    """Printed text ends up in logs, so the password is in a file of this user's."""
    path = make_first_account()
    if path is not None:
        console.print(f"Log in as {FIRST_NAME}; the password is in this file:")
        console.print(f"{path}", markup=False, soft_wrap=True)
        console.print("You choose another one when you log in; the file is deleted then.")
