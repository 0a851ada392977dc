"""The pages of profiles."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from advisor.pages.devices.forms import PlainForm
from advisor.pages.lists import Listing, read_id
from advisor.pages.request_fields import faults_of, given, request_fields
from advisor.responses import download, too_large
from benchmarks.errors import ExpectedError
from tuning.models import ServerProfile, Study
from tuning.requests.configs import MAX_OUTPUT_BYTES, ProfileRequest
from tuning.requests.fields import read_request
from tuning.server_profile.figures import figures_of
from tuning.server_profile.reading import script
from tuning.studies.server_profiles import (
    compare_stored,
    create_profile,
    newest_profiles,
    profile_of,
    server_answers,
)

PROFILES = Listing("profile-list", "profile", "profiles", ("name",), "Name")
_NO_TEXT = "Paste the output of the script, or choose a file."


class ProfileForm(PlainForm):
    """The output of the script, and what no server tells."""

    text = forms.CharField(
        label="Output of the script",
        required=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "autocomplete": "off"}),
        strip=False,
    )
    file = forms.FileField(
        label="Or upload it as a file",
        required=False,
        help_text=f"Up to {MAX_OUTPUT_BYTES // 1024} KiB. A file takes precedence over the text.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= request_fields(ProfileRequest, ("memory", "name", "hides_names"))

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if (file := data.get("file")) and file.size > MAX_OUTPUT_BYTES:
            self.add_error("file", f"Is larger than {MAX_OUTPUT_BYTES // 1024} KiB.")
        elif file:
            data["text"] = file.read().decode(errors="replace")
        elif not data.get("text", "").strip():
            self.add_error("text", _NO_TEXT)
        return data

    def add_refusal(self, error: ExpectedError) -> None:
        """Show the reasons beside their fields, and do not send a large text back."""
        super().add_refusal(error)
        if len(self.data.get("text", "")) > MAX_OUTPUT_BYTES:
            self.data = {**self.data, "text": ""}


@require_http_methods(["GET", "POST"])
def profile_list(request: HttpRequest) -> HttpResponse:
    """The stored profiles and the form for another one; on POST the new profile's page."""
    form = ProfileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            asked = read_request(ProfileRequest, given(ProfileRequest, form.cleaned_data))
            row = create_profile(asked, user=request.user)
        except ExpectedError as error:
            form.add_refusal(error)
        else:
            return redirect("profile-detail", pk=row.pk)
    return _list_page(request, form)


def profile_refused_by_size(request: HttpRequest) -> HttpResponse:
    """The list and the form, with the reason why the output was not read."""
    form = ProfileForm({})
    form.errors["text"] = form.error_class([too_large()])
    return _list_page(request, form)


def _list_page(request: HttpRequest, form: ProfileForm) -> HttpResponse:
    shown = PROFILES.read(request.GET, ServerProfile.objects.all())
    context = {
        "list": shown,
        "rows": [(row, profile_of(row)) for row in shown],
        "form": form,
        "script": script(),
    }
    return render(request, "profiles/list.html", context, status=400 if form.errors else 200)


@require_GET
def profile_script(request: HttpRequest) -> HttpResponse:
    """The SQL script as a file."""
    return download("profile.sql", "application/sql; charset=utf-8", script())


@require_GET
def profile_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The figures of a profile, and all that was kept of the server's output."""
    row = get_object_or_404(ServerProfile, pk=pk)
    profile = profile_of(row)
    figures = figures_of(profile)
    context = {
        "row": row,
        "profile": profile,
        "figures": figures,
        "status": [
            (name, profile.first.get(name), value)
            for name, value in sorted(profile.second.items())
        ],
        "variables": sorted(profile.variables.items()),
    }
    return render(request, "profiles/detail.html", context)


@require_GET
def profile_comparison(request: HttpRequest) -> HttpResponse:
    """Two profiles side by side; without both the choice alone."""
    ids = {name: read_id(request.GET.get(name, "")) for name in ("before", "after")}
    context: dict[str, Any] = {"rows": newest_profiles(), "ids": ids}
    before, after = ids.values()
    if before is not None and after is not None:
        try:
            context["comparison"] = compare_stored(before, after)
        except ExpectedError as error:
            context["faults"] = dict(faults_of(error))
    status = 400 if "faults" in context else 200
    return render(request, "profiles/compare.html", context, status=status)


@require_GET
def study_server(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the steps on the profiled server that follow from a study's answer."""
    study = get_object_or_404(Study.objects.select_related("server", "host"), pk=pk)
    context: dict[str, Any] = {"study": study}
    try:
        context["answers"] = server_answers(study)
    except ExpectedError as error:
        context["why_not"] = str(error)
    return render(request, "profiles/steps.html", context)
