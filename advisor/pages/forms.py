"""The form that asks for a study, and what its fields become."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from benchmarks.errors import BenchmarkError
from tuning.errors import TuningError
from tuning.services.requests import StudyRequest
from tuning.study_templates import StudyTemplate

LARGEST_CONFIG_BYTES = 64 * 1024
MOST_CONFIGS = 20
DEFAULT_TEMPLATE = "quick"
SIZES = ("warehouses", "connections", "blocks", "warmup_s", "measure_s")

# Which field an error of the services belongs beside, by its code.
FIELD_OF_CODE = {
    "device_unusable": "device",
    "not_a_server": "server",
    "no_server_found": "server",
    "no_driver": "driver",
}


@dataclass(frozen=True)
class PastedConfig:
    """A my.cnf as it stands in the form: kept, so that a mistake can be mended there."""

    name: str
    text: str


class NewStudyForm(forms.Form):
    """Every field may stay empty: then the template's or the host's own value holds."""

    template = forms.ChoiceField()
    name = forms.CharField(
        required=False, max_length=200, help_text="How the study is listed. Optional."
    )
    device = forms.CharField(
        label="Device path",
        required=False,
        max_length=1024,
        help_text="A directory on the device to be measured; all data goes below it.",
    )
    server = forms.CharField(
        label="Server program",
        required=False,
        max_length=1024,
        help_text="Path of a mysqld or mariadbd. Empty: the one on PATH, else the one brought.",
    )
    driver = forms.ChoiceField(
        choices=[
            ("auto", "tpcc-mysql if installed, else sysbench"),
            ("tpcc-mysql", "tpcc-mysql"),
            ("sysbench", "sysbench"),
        ],
        help_text="The program that sends the TPC-C transactions.",
    )
    warehouses = forms.IntegerField(required=False, min_value=1)
    connections = forms.CharField(
        required=False, help_text="One number, or several with commas: one ranking each."
    )
    warmup_s = forms.IntegerField(label="Warm-up, seconds", required=False, min_value=0)
    measure_s = forms.IntegerField(label="Measured, seconds", required=False, min_value=1)
    blocks = forms.IntegerField(
        required=False, min_value=1, help_text="How often each candidate runs."
    )

    def __init__(self, *args: Any, templates: list[StudyTemplate], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["template"]
        assert isinstance(choice, forms.ChoiceField)  # noqa: S101  # for the type checker
        choice.choices = [(one.name, one.title) for one in templates]
        self.fields["template"].initial = DEFAULT_TEMPLATE
        # app.js changes them with the choice of the template.
        self.template_values = {one.name: _values_of(one) for one in templates}
        shown = self.template_values.get(str(self["template"].value()), {})
        self.candidates_shown = shown.get("candidates", "")
        for name in SIZES:
            self.fields[name].widget.attrs["placeholder"] = shown.get(name, "")
        for name in self.fields:
            self.fields[name].widget.attrs.setdefault("autocomplete", "off")

    def clean_connections(self) -> list[int] | None:
        text = self.cleaned_data["connections"].strip()
        if not text:
            return None
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise forms.ValidationError(
                "Expected whole numbers with commas between them, such as 8 or 8, 32, 128."
            ) from None
        if min(numbers) < 1:
            raise forms.ValidationError("Each number of connections must be at least 1.")
        return numbers

    def study_request(self, configs: list[PastedConfig]) -> StudyRequest:
        """The request the cleaned fields stand for."""
        data = self.cleaned_data
        return StudyRequest(
            template=data["template"],
            name=data["name"],
            device=Path(data["device"]) if data["device"] else None,
            server=Path(data["server"]) if data["server"] else None,
            driver=data["driver"],
            configs=[(config.name, config.text.encode()) for config in configs],
            warehouses=data["warehouses"],
            connections=data["connections"],
            warmup_s=data["warmup_s"],
            measure_s=data["measure_s"],
            blocks=data["blocks"],
        )

    def add_refusal(self, error: TuningError | BenchmarkError) -> None:
        """Show a service's error beside the field it is about, or above the form."""
        field = FIELD_OF_CODE.get(error.code)
        first_word = str(error).split(" ", 1)[0]
        if field is None and error.code == "bad_request" and first_word in self.fields:
            field = first_word
        self.add_error(field, str(error))


def _values_of(template: StudyTemplate) -> dict[str, str]:
    """What the form says of a template: its sizes by field, and its candidates."""
    values = {
        name: ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        for name in SIZES
        for value in [getattr(template, name)]
    }
    names = [
        f"{name} (baseline)" if name == template.baseline else name for name in template.presets
    ]
    return values | {"candidates": ", ".join(names)}


def pasted_configs(names: list[str], texts: list[str]) -> tuple[list[PastedConfig], list[str]]:
    """The named texts of the form and what is wrong with them; empty pairs are passed over."""
    configs, problems = [], []
    for number, (name, text) in enumerate(zip(names, texts, strict=False), start=1):
        if not name.strip() and not text.strip():
            continue
        name = name.strip() or f"pasted-{number}"
        if not text.strip():
            problems.append(f"{name}: the text is empty.")
        elif len(text.encode()) > LARGEST_CONFIG_BYTES:
            problems.append(f"{name}: longer than {LARGEST_CONFIG_BYTES // 1024} KB.")
        configs.append(PastedConfig(name, text))
    return configs, problems


def uploaded_configs(files: list[UploadedFile[Any]]) -> tuple[list[PastedConfig], list[str]]:
    """The uploaded files as named texts (name less its ending), and what is wrong with them."""
    configs, problems = [], []
    for file in files:
        name = Path(file.name or "uploaded").stem
        if (file.size or 0) > LARGEST_CONFIG_BYTES:
            problems.append(f"{file.name}: longer than {LARGEST_CONFIG_BYTES // 1024} KB.")
            continue
        try:
            text = file.read().decode()
        except UnicodeDecodeError:
            problems.append(f"{file.name}: not a text file in UTF-8.")
            continue
        configs.append(PastedConfig(name, text))
    return configs, problems
