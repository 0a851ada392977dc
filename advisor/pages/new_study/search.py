"""The search fields of the form: search space and objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms

from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.studies.request import BadRequest, SearchRequest
from tuning.studies.search_texts import (
    OBJECTIVES,
    read_bounds,
    read_keep,
    read_knobs,
    read_names,
    read_objective,
    read_pinned,
)

MAX_TEXT = 4000
_OBJECTIVES = {
    Metric.TPMP: "Throughput (tpmP)",
    Metric.P95: "95th-percentile New-Order response time",
    Metric.SERVER_PATH_LENGTH: "CPU path length of the server",
}


class ReadField(forms.CharField):
    """A text for one of the readers of `search_texts`; with `mark`, in parts between the marks."""

    def __init__(self, read: Callable[[Any], Any], *, mark: str = "", **values: Any) -> None:
        super().__init__(required=False, max_length=MAX_TEXT, **values)
        self._read, self._mark = read, mark

    def clean(self, value: Any) -> Any:
        given: Any = super().clean(value)
        if self._mark:
            given = [part.strip() for part in given.split(self._mark) if part.strip()]
        try:
            return self._read(given)
        except BadRequest as error:
            raise forms.ValidationError(str(error)) from None


class SearchFields(forms.Form):
    """Empty fields use the catalogue's choice."""

    search_knobs = ReadField(
        read_knobs,
        label="Variables to search",
        help_text="A number, or names separated by commas.",
    )
    search_free = ReadField(
        read_names,
        label="Also search",
        help_text="Names separated by commas: searched in any case, beside those that are chosen.",
    )
    search_objective = forms.TypedChoiceField(
        label="Objective",
        required=False,
        coerce=read_objective,
        empty_value=Metric.TPMP,
        choices=[(name, _OBJECTIVES[metric]) for name, metric in OBJECTIVES.items()],
    )
    search_keep = ReadField(
        read_keep,
        mark=",",
        label="Limits",
        help_text="Separated by commas: p95<=50 (ms), path-length<=3 (Mcycles per New-Order), "
        "tpmP>=5000, recovery<=60 (s to serve again after a kill under load). A config that "
        "violates a limit is not recommended.",
    )
    search_pinned = ReadField(
        read_pinned,
        mark="\n",
        label="Pinned variables",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="One per line, such as innodb_flush_method=O_DIRECT; set in every config.",
    )
    search_bounds = ReadField(
        read_bounds,
        mark="\n",
        label="Bounds",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="One per line, such as innodb_buffer_pool_size=1G..4G.",
    )

    search_warm_start = forms.BooleanField(
        label="Begin with earlier studies",
        required=False,
        initial=True,
        help_text="The best configs that they found on the same kind of device are measured "
        "first. Their figures are in no ranking.",
    )

    def search_request(self) -> SearchRequest:
        """The request of the cleaned fields; raises BadRequest."""
        data = self.cleaned_data
        return SearchRequest(
            knobs=data["search_knobs"],
            free=data["search_free"],
            pinned=data["search_pinned"],
            bounds=data["search_bounds"],
            aim=Aim(data["search_objective"], *data["search_keep"]),
            warm_start=data["search_warm_start"],
        )


def field_of_search(field: str) -> str | None:
    """The form's field for that of a request, "search.pinned.some_knob"; None for others."""
    if not field.startswith("search."):
        return None
    return f"search_{field.split('.')[1]}"
