"""Creates a study from the form, or only checks its my.cnf files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from advisor.access.callers import caller_of
from advisor.ids import read_id
from advisor.pages.configs.report import CheckView, check_view
from advisor.pages.configs.texts import (
    ConfigText,
    pasted_configs,
    uploaded_configs,
)
from advisor.pages.hosts.typed_paths import FIELDS, PathAnswer, answers_about
from advisor.pages.new_study.again import files_of, initial_of
from advisor.pages.new_study.device_choice import choosable
from advisor.pages.new_study.forms import NewStudyForm
from advisor.pages.new_study.hosts import FINDS, chosen_hosts
from advisor.pages.new_study.questions import QUESTIONS, question_links, question_of
from advisor.wording.formatting import names_text
from advisor.wording.searches import missed_before_text, warm_start_text
from advisor.wording.spaces import space_lines
from benchmarks.errors import ExpectedError
from tuning.configs.files.cnf import MAX_CONFIG_BYTES
from tuning.creation.config_check import check_text
from tuning.creation.create import create_study, request_again
from tuning.creation.groups import create_group, group_previews
from tuning.creation.plan import plan_of
from tuning.creation.preview import Preview, preview_of
from tuning.creation.search import PlannedSearch, search_of
from tuning.errors import InvalidConfig, Problem
from tuning.models import Study
from tuning.requests.configs import OLDER
from tuning.requests.study import MAX_CONFIGS, GroupRequest, StudyRequest
from tuning.study_templates.loader import StudyTemplate, load_template, template_names

# Values of `action`; without one the study is started.
CHECK, CHECK_TRANSLATED, SPACE = "check", "check-translated", "space"
PREVIEW = "preview"
INSPECT = "inspect"  # without JavaScript; else the answer comes as soon as a path is typed in
# Fields whose choices are those of the chosen hosts.
_SEVERAL = ("load_hosts", "devices", "emulate")
_DEPEND_ON_THE_HOST = (
    *("template", "server", "driver", "path", "log_dir", "kind", "memory_mb"),
    *_SEVERAL,
)


@dataclass
class _Answer:
    """What the page shows beside the form. `problems` are those that no check below shows.

    `unknown`: why there are no `outlooks` before anything was typed.
    """

    configs: list[ConfigText] = field(default_factory=list)
    config_errors: list[str] = field(default_factory=list)
    is_refused: bool = False
    problems: list[Problem] = field(default_factory=list)
    checks: list[CheckView] = field(default_factory=list)
    only_checked: bool = False
    is_device_gone: bool = False
    shows_space: bool = False
    typed: dict[str, list[PathAnswer]] = field(default_factory=dict)
    outlooks: list[Preview] = field(default_factory=list)
    unknown: str = ""
    again: Study | None = None
    found: PlannedSearch | None = None

    @property
    def outlooks_alike(self) -> list[tuple[str, list[Preview]]]:
        """Those that differ in their host and its disks alone, with the names of the hosts."""
        alike: dict[Preview, list[Preview]] = {}
        for one in self.outlooks:
            alike.setdefault(replace(one, host="", disks=()), []).append(one)
        return [(_hosts_of(found), found) for found in alike.values()]

    @property
    def measured_hosts(self) -> str:
        return _hosts_of(self.outlooks)


def _hosts_of(outlooks: list[Preview]) -> str:
    return names_text([one.host for one in outlooks])


@require_http_methods(["GET", "POST"])
def study_new(request: HttpRequest) -> HttpResponse:
    """The empty form; on POST the new study's page, or the form with its errors."""
    templates = [load_template(name) for name in template_names()]
    if request.method == "GET":
        return _empty_page(request, templates)
    action = request.POST.get("action", "")
    hosts = chosen_hosts(request.POST)
    form = NewStudyForm(_posted(request, action), templates=templates, hosts=hosts)
    answer = _Answer(only_checked=action in (CHECK, CHECK_TRANSLATED), shows_space=action == SPACE)
    _read_configs(request, request.POST, answer)
    if action == INSPECT:
        answer.typed = _typed(request, form)
        return _page(request, form, answer)
    if action == PREVIEW:
        _look_ahead(form, answer)
        return _preview(request, form, answer)
    if answer.shows_space:
        if form.is_valid():
            _show_space(form, answer)
        # An answer with an error is not swapped in.
        is_fine = answer.found is not None or request.htmx  # type: ignore[attr-defined]
        return _page(request, form, answer, status=200 if is_fine else 400)
    if form.is_valid() and not answer.config_errors:
        template = next(one for one in templates if one.name == form.cleaned_data["template"])
        if not answer.only_checked:
            try:
                address = _start(form, answer, request.user)
            except InvalidConfig as error:
                answer.is_refused, answer.problems = True, list(error.problems)
            except ExpectedError as error:
                form.add_refusal(error)
            else:
                return redirect(address)
        if answer.only_checked or answer.is_refused:
            _check(form, template, answer)
    # htmx takes the result out of the page, and ignores a response with an error status.
    is_fine = answer.only_checked and (form.is_valid() or request.htmx)  # type: ignore[attr-defined]
    return _page(request, form, answer, status=200 if is_fine else 400)


def _typed(request: HttpRequest, form: NewStudyForm) -> dict[str, list[PathAnswer]]:
    """By field what the hosts say about the paths; asked again, what they have said since."""
    lists = caller_of(request).is_administrator
    return {
        name: answers_about(
            name,
            request.POST.get(name, ""),
            form.hosts.chosen,
            lists=lists,
            user=request.user,
        )
        for name in FIELDS
    }


def _start(form: NewStudyForm, answer: _Answer, user: Any) -> str:
    """Start the study, or one on each of several hosts; returns the address of its page."""
    asked = form.study_request(answer.configs)
    if isinstance(asked, StudyRequest):
        return reverse("study-detail", args=[create_study(asked, user=user).pk])
    group = create_group(asked, user=user)
    return reverse("group-detail", args=[group.pk])


def _look_ahead(form: NewStudyForm, answer: _Answer) -> None:
    """What the study would take, and what is wrong so far; nothing is stored."""
    if not form.is_valid():
        return
    try:
        answer.outlooks = _outlooks(form.study_request(answer.configs))
    except ExpectedError as error:
        form.add_refusal(error)


def _preview(request: HttpRequest, form: NewStudyForm, answer: _Answer) -> HttpResponse:
    """To htmx the preview and what is wrong beside each field; without JavaScript the page."""
    if not request.htmx:  # type: ignore[attr-defined]
        return _page(request, form, answer, status=200 if form.is_valid() else 400)
    context = {"form": form, "answer": answer, "fields": form.fields_that_say_errors}
    return render(request, "studies/_preview.html", context)


def _show_space(form: NewStudyForm, answer: _Answer) -> None:
    try:
        asked = form.study_request(answer.configs)
        if isinstance(asked, GroupRequest):
            asked = asked.on(asked.hosts[0])
        answer.found = search_of(plan_of(asked))
    except ExpectedError as error:
        form.add_refusal(error)


def _empty_page(request: HttpRequest, templates: list[StudyTemplate]) -> HttpResponse:
    """The empty form; `?host=` chooses hosts and `?device=` a registered device.

    When other hosts are chosen htmx asks again, with the fields that depend on them.
    """
    wanted = request.GET.get("device")
    answer = _Answer()
    if "again" in request.GET:
        return _again_page(request, templates)
    initial: dict[str, Any] = {
        name: request.GET.getlist(name) if name in _SEVERAL else request.GET[name]
        for name in _DEPEND_ON_THE_HOST
        if name in request.GET
    }
    if wanted is not None:
        answer.is_device_gone = not choosable(wanted)
        initial |= {} if answer.is_device_gone else {"devices": [str(int(wanted))]}
    hosts = chosen_hosts(request.GET)
    if "template" not in initial and (named := QUESTIONS.get(request.GET.get("question", ""))):
        initial["template"] = named.template
    form = NewStudyForm(templates=templates, hosts=hosts, initial=initial)
    _look_at_the_usual(form, answer)
    return _page(request, form, answer)


def _look_at_the_usual(form: NewStudyForm, answer: _Answer) -> None:
    """What the form as it is shown first would take, or why its hosts cannot measure yet."""
    hosts, template = form.hosts.names, str(form["template"].value())
    devices = form.devices_first_chosen
    request: StudyRequest | GroupRequest
    if len(hosts) > 1:
        request = GroupRequest(template=template, hosts=tuple(hosts), devices=devices)
    else:
        request = StudyRequest(template=template, host="".join(hosts), devices=devices)
    with _saying_why_not(answer):
        answer.outlooks = _outlooks(request)


def _outlooks(request: StudyRequest | GroupRequest) -> list[Preview]:
    if isinstance(request, GroupRequest):
        return group_previews(request)
    return [preview_of(plan_of(request))]


@contextmanager
def _saying_why_not(answer: _Answer) -> Iterator[None]:
    """Before anything was typed: then what is wrong is said beside its field."""
    try:
        yield
    except ExpectedError as error:
        answer.unknown = str(error).rstrip(".")


def _again_page(request: HttpRequest, templates: list[StudyTemplate]) -> HttpResponse:
    """The form filled in as for the study `?again=`, to change something and run it again."""
    study = _study_again(request.GET["again"])
    try:
        repeated = request_again(study)
    except ExpectedError as error:
        messages.warning(request, f"The study cannot be run again as it was: {error}.")
        return redirect("study-detail", pk=study.pk)
    asked = QueryDict(mutable=True)
    asked["host"] = repeated.host
    form = NewStudyForm(
        templates=templates, hosts=chosen_hosts(asked), initial=initial_of(repeated)
    )
    answer = _Answer(configs=files_of(repeated), again=study)
    with _saying_why_not(answer):
        answer.outlooks = [preview_of(plan_of(repeated))]
    return _page(request, form, answer)


def _study_again(text: str) -> Study:
    pk = read_id(text)
    if pk is None:
        raise Http404("no such study")
    return get_object_or_404(
        Study.objects.select_related("server", "host"), pk=pk, gate__isnull=True
    )


@require_POST
def study_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts the same study once more."""
    study = _study_again(str(pk))
    try:
        again = create_study(request_again(study), user=request.user)
    except ExpectedError as error:
        messages.warning(request, f"The study was not started again: {error}.")
        return redirect("study-detail", pk=pk)
    messages.info(request, f"The same as study {pk}, with a new random order.")
    return redirect("study-detail", pk=again.pk)


def _posted(request: HttpRequest, action: str) -> QueryDict:
    if action != CHECK_TRANSLATED:
        return request.POST
    posted = request.POST.copy()
    posted["translate_from"] = OLDER
    return posted


def _read_configs(request: HttpRequest, posted: QueryDict, answer: _Answer) -> None:
    pasted, errors = pasted_configs(posted.getlist("config_name"), posted.getlist("config_text"))
    uploaded, upload_errors = uploaded_configs(request.FILES.getlist("config_files"))
    answer.configs = pasted + uploaded
    answer.config_errors = errors + upload_errors
    if len(answer.configs) > MAX_CONFIGS:
        answer.config_errors.append(f"A study can have at most {MAX_CONFIGS} configs.")
    elif answer.only_checked and not answer.configs:
        answer.config_errors.append("Nothing to check: choose a file or paste a my.cnf first.")


def _check(form: NewStudyForm, template: StudyTemplate, answer: _Answer) -> None:
    try:
        asked = form.study_request([])
        hosts = [asked.host] if isinstance(asked, StudyRequest) else asked.hosts
        connections = asked.connections or template.connections_on(form.hosts.logical_cpus)
        answer.checks = [
            check_view(
                check_text(
                    config.data,
                    name=config.name,
                    host=hosts[0],
                    server=asked.server,
                    devices=asked.devices,
                    warehouses=asked.warehouses or template.warehouses,
                    translate_from=asked.translate_from,
                    durability=asked.durability,
                    connections=max(connections),
                    memory=asked.memory,
                )
            )
            for config in answer.configs
        ]
        found = chain.from_iterable(check.checked.report.problems for check in answer.checks)
        shown = {(one.source, one.line, one.name) for one in found}
        answer.problems = [
            one for one in answer.problems if (one.source, one.line, one.name) not in shown
        ]
    except ExpectedError as error:
        form.add_refusal(error)


def _page(
    request: HttpRequest,
    form: NewStudyForm,
    answer: _Answer,
    status: int = 200,
    *,
    asked: QueryDict | None = None,
) -> HttpResponse:
    """`asked`: where the answers so far are, if not in the request."""
    template = next((one for one in form.templates if one.name == form["template"].value()), None)
    if asked is None:
        asked = request.POST if request.method == "POST" else request.GET
    question = question_of(asked, template)
    context: dict[str, Any] = {
        "form": form,
        "question": question,
        "questions": question_links(asked, question),
        "answer": answer,
        "configs": answer.configs or [ConfigText("")],
        "space_lines": space_lines(answer.found.space) if answer.found else [],
        "begins": warm_start_text(answer.found.warm_start) if answer.found else "",
        "missed": missed_before_text(answer.found.missed_before) if answer.found else "",
        "lines_helped": sum(check.lines_helped for check in answer.checks),
        "hosts": form.hosts,
        "depends_on_hosts": ",".join(("host", *_DEPEND_ON_THE_HOST, *FINDS)),
        "max_kib": MAX_CONFIG_BYTES // 1024,
    }
    return render(request, "studies/new.html", context, status=status)
