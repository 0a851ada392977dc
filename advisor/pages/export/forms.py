"""The form of an export, and the request that it makes."""

from __future__ import annotations

from typing import Any

from django import forms

from advisor.pages.configs.texts import TOO_LARGE
from advisor.pages.devices.forms import PlainForm
from benchmarks.errors import ExpectedError
from tuning.catalogue.knob import Durability
from tuning.configs.parse import MAX_CONFIG_BYTES
from tuning.errors import InvalidConfig
from tuning.export.formats import FORMATS, ExportRequest


class ExportForm(PlainForm):
    """`needed` is the class that has to be acknowledged first; D0 needs no acknowledgement."""

    format = forms.ChoiceField(choices=[(name, one.title) for name, one in FORMATS.items()])
    current = forms.CharField(
        label="Your current my.cnf",
        required=False,
        strip=False,
        widget=forms.Textarea,
        help_text="The file, the diff and the rollback are made for it. Without it they are for "
        "the file that the recommendation came from, if there is one. Nothing is stored.",
    )
    current_file = forms.FileField(label="Or upload it", required=False, allow_empty_file=True)
    acknowledge = forms.BooleanField(required=False)

    def __init__(
        self, data: Any = None, files: Any = None, *, needed: Durability, pk: int
    ) -> None:
        # A page may have several of these forms.
        super().__init__(data, files, auto_id=f"id_{pk}_%s")
        self.needed = needed
        self.fields["current"].widget.attrs |= {"spellcheck": "false", "rows": "6"}

    def clean(self) -> None:
        if len(self.cleaned_data.get("current", "").encode()) > MAX_CONFIG_BYTES:
            self.add_error("current", f"The text is {TOO_LARGE}")
            # Do not send it back. Use items(): unpacking a QueryDict would give lists.
            self.data = dict(self.data.items()) | {"current": ""}
        file = self.cleaned_data.get("current_file")
        if file is not None and file.size > MAX_CONFIG_BYTES:
            self.add_error("current_file", f"{file.name}: {TOO_LARGE}")

    def export_request(self) -> ExportRequest:
        """Return the request of the cleaned fields."""
        data = self.cleaned_data
        file = data["current_file"]
        current = file.read() if file is not None else data["current"].encode()
        return ExportRequest(
            format=data["format"],
            acknowledged=self.needed if data["acknowledge"] else Durability.D0,
            current=current if current.strip() else None,
        )

    def add_refusal(self, error: ExpectedError) -> None:
        """Show an error of the export beside the field it is about."""
        if not isinstance(error, InvalidConfig):
            is_unacknowledged = error.code == "durability_not_acknowledged"
            text = "You must accept this to get the file." if is_unacknowledged else str(error)
            self.add_error(error.field or None, text)
            return
        for problem in error.problems:
            line = f"Line {problem.line}: " if problem.line else ""
            name = f"{problem.name}: " if problem.name else ""
            self.add_error("current", f"{line}{name}{problem.reason}")
