"""Asking for a study in the browser."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from advisor.pages.forms import (
    MOST_CONFIGS,
    NewStudyForm,
    PastedConfig,
    pasted_configs,
    uploaded_configs,
)
from benchmarks.errors import BenchmarkError
from tuning.errors import InvalidConfig, Problem, TuningError
from tuning.services.studies import create_study
from tuning.study_templates import load_template, template_names


@require_http_methods(["GET", "POST"])
def study_new(request: HttpRequest) -> HttpResponse:
    """The empty form; on POST the new study's page, or the form with what is wrong in it."""
    templates = [load_template(name) for name in template_names()]
    if request.method == "GET":
        return _page(request, NewStudyForm(templates=templates))
    form = NewStudyForm(request.POST, templates=templates)
    pasted, config_errors = pasted_configs(
        request.POST.getlist("config_name"), request.POST.getlist("config_text")
    )
    uploaded, upload_errors = uploaded_configs(request.FILES.getlist("config_files"))
    configs = pasted + uploaded
    config_errors += upload_errors
    if len(configs) > MOST_CONFIGS:
        config_errors.append(f"At most {MOST_CONFIGS} configs fit into one study.")
    problems: list[Problem] = []
    if form.is_valid() and not config_errors:
        try:
            study = create_study(form.study_request(configs), user=request.user)
        except InvalidConfig as error:
            problems = list(error.problems)
        except (TuningError, BenchmarkError) as error:
            form.add_refusal(error)
        else:
            return redirect("study-detail", pk=study.pk)
    return _page(request, form, configs, config_errors, problems, status=400)


def _page(
    request: HttpRequest,
    form: NewStudyForm,
    configs: list[PastedConfig] | None = None,
    config_errors: list[str] | None = None,
    problems: list[Problem] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "configs": configs or [PastedConfig("", "")],
        "config_errors": config_errors,
        "problems": problems,
        "default_device": settings.DEFAULT_DEVICE,
    }
    return render(request, "studies/new.html", context, status=status)
