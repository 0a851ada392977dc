"""The answers beside the form of a new study: previews, checks, a search space, problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from advisor.pages.configs.report import CheckView, check_view
from advisor.pages.configs.texts import ConfigText, pasted_configs, uploaded_configs
from advisor.pages.new_study.forms import NewStudyForm
from advisor.wording.formatting import names_text
from advisor.wording.searches import warm_start_text
from advisor.wording.spaces import SpaceLine, space_lines
from benchmarks.errors import ExpectedError
from tuning.creation.config_check import check_in_plan
from tuning.creation.configs import configs_of
from tuning.creation.create import create_study
from tuning.creation.groups import create_group, plans_of
from tuning.creation.plan import Plan
from tuning.creation.preview import Preview, preview_of
from tuning.creation.search import PlannedSearch, search_of
from tuning.errors import InvalidConfig, Problem
from tuning.models import Study
from tuning.requests.study import MAX_CONFIGS, GroupRequest, StudyRequest

# Values of `action`; without one the study is started.
CHECK, SPACE = "check", "space"
PREVIEW = "preview"


@dataclass
class Answer:
    """The answer to an action of the form.

    configs: the files, which are shown again. problems: refused lines that no check shows.
    unknown: why there are no previews before anything was typed.
    again: the study that is repeated.
    """

    action: str = ""
    configs: list[ConfigText] = field(default_factory=list)
    config_errors: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    checks: list[CheckView] = field(default_factory=list)
    previews: list[Preview] = field(default_factory=list)
    search: PlannedSearch | None = None
    is_refused: bool = False
    is_device_gone: bool = False
    unknown: str = ""
    again: Study | None = None

    @property
    def only_checked(self) -> bool:
        return self.action == CHECK

    @property
    def shows_space(self) -> bool:
        return self.action == SPACE

    @property
    def alike(self) -> list[tuple[str, list[Preview]]]:
        """The previews in groups that differ in hosts and disks alone, with the hosts' names."""
        groups: dict[Preview, list[Preview]] = {}
        for one in self.previews:
            groups.setdefault(replace(one, host="", disks=()), []).append(one)
        return [(_hosts_of(group), group) for group in groups.values()]

    @property
    def measured_hosts(self) -> str:
        return _hosts_of(self.previews)

    @property
    def space_lines(self) -> list[SpaceLine]:
        return space_lines(self.search.space) if self.search else []

    @property
    def search_begins(self) -> str:
        """The data that the search begins with, in a sentence; "" for nothing."""
        return warm_start_text(self.search.warm_start) if self.search else ""

    def read_files(self, request: HttpRequest) -> None:
        posted = request.POST
        names, texts = posted.getlist("config_name"), posted.getlist("config_text")
        pasted, errors = pasted_configs(names, texts)
        uploaded, upload_errors = uploaded_configs(request.FILES.getlist("config_files"))
        self.configs, self.config_errors = pasted + uploaded, errors + upload_errors
        if len(self.configs) > MAX_CONFIGS:
            self.config_errors.append(f"A study can have at most {MAX_CONFIGS} configs.")
        elif self.only_checked and not self.configs:
            self.config_errors.append("Nothing to check: choose a file or paste a my.cnf first.")

    def show_usual(self, asked: StudyRequest | GroupRequest) -> None:
        """Preview the form as it is shown first. Its hosts may be unable to measure yet."""
        try:
            self.previews = [preview_of(plan) for plan in plans_of(asked)]
        except ExpectedError as error:
            self.unknown = str(error).rstrip(".")


def start(form: NewStudyForm, answer: Answer, user: Any) -> str:
    """Start the study, or a study on each of several hosts; return the address of its page.

    A refused config is reported line by line. Returns "" where nothing was started.
    """
    if not form.is_valid() or answer.config_errors:
        return ""
    try:
        asked = form.study_request(answer.configs)
        if isinstance(asked, GroupRequest):
            return reverse("group-detail", args=[create_group(asked, user=user).pk])
        return reverse("study-detail", args=[create_study(asked, user=user).pk])
    except InvalidConfig as error:
        answer.is_refused, answer.problems = True, list(error.problems)
        _try(_check, form, answer)
    except ExpectedError as error:
        form.add_refusal(error)
    return ""


def act(form: NewStudyForm, answer: Answer) -> None:
    """Do what a button asks for, other than starting. Nothing is stored."""
    do = {SPACE: _space, PREVIEW: _preview}.get(answer.action, _check)
    if form.is_valid() and not (answer.only_checked and answer.config_errors):
        _try(do, form, answer)


def _try(do: Callable[[NewStudyForm, Answer], None], form: NewStudyForm, answer: Answer) -> None:
    try:
        do(form, answer)
    except ExpectedError as error:
        form.add_refusal(error)


def _preview(form: NewStudyForm, answer: Answer) -> None:
    plans = plans_of(form.study_request(answer.configs))
    answer.problems = _refused_lines(plans[0], answer.configs)
    if answer.problems:
        return
    if form.searches:
        search_of(plans[0])  # refuses variables that it cannot search
    answer.previews = [preview_of(plan) for plan in plans]


def _refused_lines(plan: Plan, configs: Sequence[ConfigText]) -> list[Problem]:
    """Return the lines for which the study would be refused."""
    if plan.real is None:
        checked = [check_in_plan(plan, one.name, one.data) for one in configs]
        return [problem for one in checked for problem in one.report.problems]
    try:
        configs_of(plan)
    except InvalidConfig as error:
        return list(error.problems)
    return []


def _space(form: NewStudyForm, answer: Answer) -> None:
    answer.search = search_of(plans_of(form.study_request(answer.configs))[0])


def _check(form: NewStudyForm, answer: Answer) -> None:
    """Check each file for the first host. A problem is listed once."""
    plan = plans_of(form.study_request([]))[0]
    found = [check_in_plan(plan, config.name, config.data) for config in answer.configs]
    answer.checks = [check_view(checked) for checked in found]
    shown = {
        (one.source, one.line, one.name) for checked in found for one in checked.report.problems
    }
    answer.problems = [
        one for one in answer.problems if (one.source, one.line, one.name) not in shown
    ]


def _hosts_of(previews: list[Preview]) -> str:
    return names_text([one.host for one in previews])
