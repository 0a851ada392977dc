"""Checks a my.cnf without a study, line by line. Nothing is stored."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from advisor.pages.configs.report import check_view
from advisor.pages.configs.texts import (
    CheckForm,
    ConfigText,
    pasted_configs,
    uploaded_configs,
)
from advisor.responses import too_large
from benchmarks.errors import ExpectedError
from tuning.configs.parse import MAX_CONFIG_BYTES
from tuning.creation.config_check import CheckedText, check_text

NAME = "my.cnf"


@require_http_methods(["GET", "POST"])
def check_config(request: HttpRequest) -> HttpResponse:
    """The empty form; on POST the result with the resulting my.cnf."""
    if request.method == "GET":
        return _page(request, CheckForm())
    form = CheckForm(request.POST)
    config, errors = _given(request)
    if not form.is_valid() or errors or config is None:
        return _page(request, form, config, errors, status=400)
    try:
        checked = _check(form, config)
    except ExpectedError as error:
        # Without a target the file is checked for the host's own server.
        field = "target" if error.field == "server" else error.field
        form.add_error(field if field in form.fields else None, str(error))
        return _page(request, form, config, status=400)
    return _page(request, form, config, checked=checked)


def check_refused_by_size(request: HttpRequest) -> HttpResponse:
    """The empty form with the reason why its text or file was not read."""
    return _page(request, CheckForm(), errors=[too_large()], status=400)


def _given(request: HttpRequest) -> tuple[ConfigText | None, list[str]]:
    """The uploaded file, else the pasted text, and its errors."""
    found, errors = uploaded_configs(request.FILES.getlist("config_file"))
    if not found and not errors:
        found, errors = pasted_configs([NAME], [request.POST.get("config_text", "")])
        if not request.POST.get("config_text", "").strip():
            errors = ["Choose a file or paste a my.cnf."]
    return (found[0] if found else None), errors


def _check(form: CheckForm, config: ConfigText) -> CheckedText:
    data = form.cleaned_data
    return check_text(
        config.data,
        name=config.name,
        target=data["target"],
        host=data["host"],
        translate_from=data["translate_from"],
        connections=data["connections"],
    )


def _page(
    request: HttpRequest,
    form: CheckForm,
    config: ConfigText | None = None,
    errors: list[str] | None = None,
    *,
    checked: CheckedText | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "config": config,
        "config_errors": errors or [],
        "check": checked and check_view(checked),
        "max_kib": MAX_CONFIG_BYTES // 1024,
    }
    return render(request, "configs/check.html", context, status=status)
