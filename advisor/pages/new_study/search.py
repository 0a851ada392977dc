"""The search fields of the form: search space and objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django import forms

from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.studies.request import BadRequest, SearchRequest
from tuning.studies.search_texts import (
    OBJECTIVES,
    read_bounds,
    read_keep,
    read_knobs,
    read_objective,
    read_pinned,
)

TextT = TypeVar("TextT")
ValueT = TypeVar("ValueT")

MAX_TEXT = 4000
_OBJECTIVES = {
    Metric.TPMP: "Throughput (tpmP)",
    Metric.P95: "95th-percentile New-Order response time",
    Metric.SERVER_PATH_LENGTH: "CPU path length of the server",
}


class SearchFields(forms.Form):
    """Empty fields use the catalogue's choice."""

    search_knobs = forms.CharField(
        label="Knobs to search",
        required=False,
        max_length=MAX_TEXT,
        help_text="A number, or names separated by commas.",
    )
    search_objective = forms.ChoiceField(
        label="Objective",
        required=False,
        choices=[(name, _OBJECTIVES[metric]) for name, metric in OBJECTIVES.items()],
    )
    search_keep = forms.CharField(
        label="Limits",
        required=False,
        max_length=MAX_TEXT,
        help_text="Separated by commas: p95<=50 (ms), path-length<=3 (million cycles per "
        "New-Order), tpmP>=5000. A config that violates a limit is not recommended.",
    )
    search_pinned = forms.CharField(
        label="Pinned knobs",
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="One per line, such as innodb_flush_method=O_DIRECT; set in every config.",
    )
    search_bounds = forms.CharField(
        label="Bounds",
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="One per line, such as innodb_buffer_pool_size=1G..4G.",
    )

    def clean_search_knobs(self) -> int | tuple[str, ...] | None:
        return _read(read_knobs, self.cleaned_data["search_knobs"])

    def clean_search_objective(self) -> Metric:
        return _read(read_objective, self.cleaned_data["search_objective"] or "tpmP")

    def clean_search_keep(self) -> dict[Metric, float]:
        return _read(read_keep, _parts(self.cleaned_data["search_keep"], ","))

    def clean_search_pinned(self) -> dict[str, str]:
        return _read(read_pinned, _parts(self.cleaned_data["search_pinned"], "\n"))

    def clean_search_bounds(self) -> dict[str, tuple[str, str]]:
        return _read(read_bounds, _parts(self.cleaned_data["search_bounds"], "\n"))

    def search_request(self) -> SearchRequest:
        """The request of the cleaned fields; raises BadRequest."""
        data = self.cleaned_data
        return SearchRequest(
            knobs=data["search_knobs"],
            pinned=data["search_pinned"],
            bounds=data["search_bounds"],
            aim=Aim(data["search_objective"], data["search_keep"]),
        )


def _read(reader: Callable[[TextT], ValueT], text: TextT) -> ValueT:
    try:
        return reader(text)
    except BadRequest as error:
        raise forms.ValidationError(str(error)) from None


def _parts(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def field_of_search(field: str) -> str | None:
    """The form's field for that of a request, "search.pinned.some_knob"; None for others."""
    if not field.startswith("search."):
        return None
    return f"search_{field.split('.')[1]}"
