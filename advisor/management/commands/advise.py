"""`manage.py advise`: from the question to the recommended my.cnf, on one host or on several."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from rich.console import Console

from advisor.errors import AdvisorError, StudyFailed
from advisor.management.advise_options import REQUESTS, add_options, read_options
from advisor.management.listing import look_here
from advisor.management.measuring import MeasuringCommand
from advisor.management.request_options import error_line
from advisor.processes.database import prepare_database
from advisor.terminal.files import with_suffix, write_files
from advisor.terminal.report import print_study
from advisor.terminal.tables import print_space
from advisor.wording.searches import warm_start_text
from tuning.creation.create import create_study
from tuning.creation.groups import create_group
from tuning.creation.plan import plan_of
from tuning.creation.search import search_of
from tuning.errors import TuningError
from tuning.export.formats import ExportRequest
from tuning.models import Study, StudyState
from tuning.requests.configs import ProfileRequest
from tuning.requests.study import GroupRequest, StudyRequest
from tuning.results.document import StudyDocument
from tuning.stored_documents import document_of
from tuning.studies.server_profiles import create_profile


class Command(MeasuringCommand):
    help = "Measure candidate my.cnf files on a device and write the recommended one."
    senseless_status = 2
    requests = REQUESTS

    def add_arguments(self, parser: CommandParser) -> None:
        add_options(parser)

    def run(self, options: dict[str, Any]) -> None:
        hosts = options["host"] or [settings.HOST_NAME]
        request = read_options(options, hosts)
        # The space also depends on known devices.
        prepare_database(runs_a_worker=True)
        profile = options["server_profile"]
        if isinstance(profile, str):
            profile = create_profile(ProfileRequest(text=profile, memory=request.memory)).pk
        if profile is not None:
            request = request.model_copy(update={"profile": profile})
        if settings.HOST_NAME in hosts:
            _look(request)
        if options["show_space"] and isinstance(request, StudyRequest):
            print_space(search_of(plan_of(request)), Console())
        else:
            self._show(self._measure(request, Console(stderr=True)), options)

    def _measure(self, request: StudyRequest | GroupRequest, console: Console) -> list[Study]:
        """Return the studies, in the order of the hosts, each at its end."""
        hosts = list(request.hosts) if isinstance(request, GroupRequest) else [request.host]
        is_here = settings.HOST_NAME in hosts
        if isinstance(request, StudyRequest):
            # This host's worker is started below and looks at the rows; another's has to be woken.
            studies = [create_study(request, wake=not is_here)]
        else:
            there = create_group(request).studies.select_related("host")
            studies = sorted(there, key=lambda study: hosts.index(study.host.name))
        for study in studies:
            search = document_of(study).search
            if search is None:
                continue
            where = f"{study.host}: " if len(hosts) > 1 else ""
            if text := warm_start_text(search.began_with):
                console.print(f"{where}{text}", markup=False, soft_wrap=True)
        self.follow(studies, console, is_here=is_here)
        return studies

    def _show(self, studies: list[Study], options: dict[str, Any]) -> None:
        """The ranking of each host apart, then its files; exits with 1 if one has none."""
        console = Console(stderr=options["json"])
        several, failures = len(studies) > 1, []
        if options["json"] and (several or studies[0].state == StudyState.FINISHED):
            documents = [document_of(study).model_dump(mode="json") for study in studies]
            self.write_json({"studies": documents} if several else documents[0])
        for study in studies:
            host = study.host.name
            try:
                if several:
                    console.rule(f"Host {host}, study {study.pk}", align="left")
                _check_finished(study)
                document = document_of(study)
                if not options["json"]:
                    print_study(document, console)
                self._write(document, console, options, suffix=f"-{host}" if several else "")
            except (AdvisorError, TuningError) as error:
                where = f"host {host}: " if several else ""
                failures.append(f"{error.code}: {where}{error_line(error, *REQUESTS)}")
        if failures:
            self.fail("\n".join(failures))

    def _write(
        self, document: StudyDocument, console: Console, options: dict[str, Any], *, suffix: str
    ) -> None:
        output = options["output"]
        write_files(
            document,
            console,
            ExportRequest(acknowledged=options["acknowledge"]),
            output=with_suffix(output, suffix) if output else None,
            exports=[(name, with_suffix(path, suffix)) for name, path in options["export"]],
        )


def _check_finished(study: Study) -> None:
    """Raise StudyFailed with the reason why it has no answer."""
    if study.state != StudyState.FINISHED:
        tail = f"\n{study.log_tail}" if study.log_tail else ""
        raise StudyFailed(study.reason_code or study.state, f"{study.reason}{tail}")


def _look(request: StudyRequest | GroupRequest) -> None:
    """Inspect this host for a study on it, with all that the request names here."""
    here = [one for one in request.devices if one.host in ("", settings.HOST_NAME)]
    directories = [directory for one in here for directory in (one.path, one.log_dir) if directory]
    look_here([request.server] if request.server else [], directories)
