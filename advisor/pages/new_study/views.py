"""The page of a new study."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from advisor.pages.configs.texts import ConfigText
from advisor.pages.lists import read_id
from advisor.pages.new_study.answer import PREVIEW, Answer, act, start
from advisor.pages.new_study.device_choice import choosable
from advisor.pages.new_study.forms import DEFAULT_TEMPLATE, NewStudyForm, initial_of
from advisor.pages.new_study.hosts import chosen_hosts
from advisor.pages.new_study.questions import (
    CONNECTIONS,
    QUESTIONS,
    SWEEP,
    question_links,
    question_of,
)
from advisor.responses import too_large
from benchmarks.errors import ExpectedError
from tuning.configs.parse import MAX_CONFIG_BYTES
from tuning.creation.create import create_study, request_again
from tuning.models import Study

# Fields whose choices are those of the chosen hosts.
_SEVERAL = ("devices", "emulate")
_DEPEND_ON_THE_HOST = (
    *("template", "server", "driver", "path", "log_dir", "kind", "memory_mb", "load_host"),
    *_SEVERAL,
)


@require_http_methods(["GET", "POST"])
def study_new(request: HttpRequest) -> HttpResponse:
    """The empty form; on POST the new study's page, or the form with an answer or its errors."""
    if request.method == "GET":
        return _again_page(request) if "again" in request.GET else _empty_page(request)
    answer = Answer(request.POST.get("action", ""))
    form = NewStudyForm(request.POST, hosts=chosen_hosts(request.POST))
    answer.read_files(request)
    if not answer.action:
        address = start(form, answer, request.user)
        return redirect(address) if address else _page(request, form, answer, status=400)
    act(form, answer)
    is_htmx = request.htmx  # type: ignore[attr-defined]
    if answer.action == PREVIEW and is_htmx:
        context = {"form": form, "answer": answer, "fields": form.fields_that_say_errors}
        return render(request, "studies/_preview.html", context)
    # htmx takes the result out of the page, and ignores a response with an error status.
    return _page(request, form, answer, status=200 if is_htmx or form.is_valid() else 400)


def study_refused_by_size(request: HttpRequest) -> HttpResponse:
    """The empty form with the reason why its files were not read."""
    form = NewStudyForm(hosts=chosen_hosts(request.GET))
    return _page(request, form, Answer(config_errors=[too_large()]), status=400)


def _empty_page(request: HttpRequest) -> HttpResponse:
    """The empty form; `?host=` chooses hosts and `?device=` a registered device.

    When other hosts are chosen htmx asks again, with the fields that depend on them.
    """
    asked, answer = request.GET, Answer()
    initial: dict[str, Any] = {
        name: asked.getlist(name) if name in _SEVERAL else asked[name]
        for name in _DEPEND_ON_THE_HOST
        if name in asked
    }
    if (device := asked.get("device")) is not None:
        answer.is_device_gone = not choosable(device)
        initial |= {} if answer.is_device_gone else {"devices": [str(int(device))]}
    if read_id(asked.get("profile", "")) is not None:
        initial["profile"] = asked["profile"]
    named = None if "template" in initial else QUESTIONS.get(asked.get("question", ""))
    if named is not None:
        initial["template"] = named.template or DEFAULT_TEMPLATE
    form = NewStudyForm(hosts=chosen_hosts(asked), initial=initial)
    if named is QUESTIONS[CONNECTIONS]:
        form.fields["connections"].initial = SWEEP  # the question's own value unfolds no settings
    answer.show_usual(form.usual_request())
    return _page(request, form, answer)


def _again_page(request: HttpRequest) -> HttpResponse:
    """The form filled in as for the study `?again=`, to change something and run it again."""
    study = _study_again(request.GET["again"])
    try:
        repeated = request_again(study)
    except ExpectedError as error:
        messages.warning(request, f"The study cannot be run again as it was: {error}.")
        return redirect("study-detail", pk=study.pk)
    asked = QueryDict(mutable=True)
    asked["host"] = repeated.host
    form = NewStudyForm(hosts=chosen_hosts(asked), initial=initial_of(repeated))
    files = [ConfigText(one.name, one.data) for one in repeated.configs]
    answer = Answer(configs=files, again=study)
    answer.show_usual(repeated)
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
    """Start the same study once more."""
    study = _study_again(str(pk))
    try:
        again = create_study(request_again(study), user=request.user)
    except ExpectedError as error:
        messages.warning(request, f"The study was not started again: {error}.")
        return redirect("study-detail", pk=pk)
    messages.info(request, f"The same as study {pk}, with a new random order.")
    return redirect("study-detail", pk=again.pk)


def _page(
    request: HttpRequest, form: NewStudyForm, answer: Answer, status: int = 200
) -> HttpResponse:
    asked = request.POST if form.is_bound else request.GET
    question = question_of(asked, form.chosen_template)
    context: dict[str, Any] = {
        "form": form,
        "question": question,
        "questions": question_links(asked, question),
        "answer": answer,
        "configs": answer.configs or [ConfigText("")],
        "hosts": form.hosts,
        "depends_on_hosts": ",".join(("host", *_DEPEND_ON_THE_HOST)),
        "max_kib": MAX_CONFIG_BYTES // 1024,
    }
    return render(request, "studies/new.html", context, status=status)
