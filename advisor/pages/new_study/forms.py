"""The form of a new study, and the request that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from advisor.pages.configs.forms import ConfigFields
from advisor.pages.configs.texts import ConfigText
from advisor.pages.device.forms import set_choices
from advisor.pages.finding import FilteredChoice
from advisor.pages.new_study.device_choice import StudyDevicesForm
from advisor.pages.new_study.search import SearchFields, field_of_search
from advisor.pages.new_study.templates import template_facts
from benchmarks.errors import BenchmarkError
from tuning.catalogue.costs import MEANING, CostKind
from tuning.errors import TuningError
from tuning.scale_model.sizes import read_size
from tuning.studies.request import MAX_MINUTES, MAX_WORKLOADS, StudyRequest
from tuning.study_templates.loader import StudyTemplate

# The first choice, selected by default.
DEFAULT_TEMPLATE = "search"
SIZES = ("warehouses", "connections", "blocks", "warmup_s", "measure_s")

# In the folded part of the page, which opens if one of them has a value or an error.
ADVANCED = (
    *("name", "server", "load_host", "data_size", "memory", "warehouses", "connections"),
    *("warmup_s", "races", "confirms", "recovery", "takes_apart"),
)

_YES_NO: dict[str, Any] = {
    "required": False,
    "choices": [("", "As in the template"), ("yes", "Yes"), ("no", "No")],
    "coerce": lambda text: text == "yes",
    "empty_value": None,
}


class SizeField(forms.CharField):
    """Bytes, written with a unit; None if empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, max_length=40, **options)

    def clean(self, value: Any) -> int | None:
        text = super().clean(value)
        try:
            return read_size(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(f"This {error}.") from None


class NewStudyForm(StudyDevicesForm, ConfigFields, SearchFields):
    """An empty field uses the template's or the host's value."""

    host = forms.MultipleChoiceField(
        label="Hosts",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "There is no host of that name: %(value)s."},
    )
    template = forms.ChoiceField()
    name = forms.CharField(
        required=False, max_length=200, help_text="Shown in the list of studies. Optional."
    )
    server = forms.CharField(
        label="Server binary",
        required=False,
        max_length=1024,
        help_text="Path of a mysqld or mariadbd that the host has. If empty, its first one.",
    )
    driver = forms.ChoiceField(
        choices=[
            ("auto", "tpcc-mysql if installed, else sysbench"),
            ("tpcc-mysql", "tpcc-mysql"),
            ("sysbench", "sysbench"),
        ],
        help_text="The program that sends the TPC-C transactions.",
    )
    load_host = forms.MultipleChoiceField(
        label="Run the driver on",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Another host, or several that share the connections, drive the server over the "
        "network and take no CPU time from it; if none is ticked, the driver runs beside the "
        "server. Only runs with the same load hosts are ranked together.",
        error_messages={"invalid_choice": "There is no other host of that name: %(value)s."},
    )
    warehouses = forms.IntegerField(required=False, min_value=1)
    connections = forms.CharField(
        required=False,
        help_text="One number, or several separated by commas; each has its own ranking.",
    )
    warmup_s = forms.IntegerField(label="Warm-up, seconds", required=False, min_value=0)
    measure_s = forms.IntegerField(label="Measurement, seconds", required=False, min_value=1)
    blocks = forms.IntegerField(
        required=False, min_value=1, help_text="How many times each candidate runs."
    )
    budget_minutes = forms.IntegerField(
        label="Budget, minutes",
        required=False,
        min_value=1,
        max_value=MAX_MINUTES,
        help_text="Measures until it is used up, however many blocks that makes. Optional.",
    )
    data_size = SizeField(
        label="Data of the real server",
        help_text="Such as 200G or 200GiB. With the memory, the study "
        "is a scale model of that server, and the recommendation is sized back to it.",
    )
    memory = SizeField(
        label="Memory of the real server",
        help_text="Such as 48G. Your own files are then those of the real server.",
    )
    races = forms.TypedChoiceField(
        **_YES_NO,
        label="Race",
        help_text="Drops candidates that are measurably behind; the time saved goes to the rest.",
    )
    confirms = forms.TypedChoiceField(
        **_YES_NO,
        label="Confirm the winner",
        help_text="Measures the winner again, in at least 5 pairs with the baseline.",
    )
    recovery = forms.TypedChoiceField(
        **_YES_NO,
        label="Time crash recovery",
        help_text="Kills the baseline and the winner under load, three times each, and times how "
        "long they take to serve again. Some minutes more; a search does it unless told not to.",
    )
    takes_apart = forms.TypedChoiceField(
        **_YES_NO,
        label="Take the winner apart",
        help_text="Measures a confirmed winner without some of its lines. Lines that "
        "contribute nothing are left out.",
    )
    allow = forms.TypedMultipleChoiceField(
        label="Costs that proposals may have",
        required=False,
        choices=[(kind.value, f"{kind}: {MEANING[kind]}") for kind in CostKind],
        coerce=CostKind,
        widget=forms.CheckboxSelectMultiple,
    )
    keeps_duplicates = forms.BooleanField(
        label="Measure configs with the same effective values separately (A/A comparison)",
        required=False,
    )

    def __init__(self, *args: Any, templates: list[StudyTemplate], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        templates = sorted(templates, key=lambda one: one.name != DEFAULT_TEMPLATE)
        self.templates = templates
        set_choices(self, "template", [(one.name, one.title) for one in templates])
        set_choices(self, "host", [(host.name, host.name) for host in self.hosts.known])
        self.initial.setdefault("host", self.hosts.names)
        others = [host.name for host in self.hosts.known if host.name not in self.hosts.names]
        set_choices(self, "load_host", [(name, name) for name in others])
        self.fields["server"].widget.attrs["list"] = "known-servers"
        cpus = self.hosts.logical_cpus
        self._searching = {one.name for one in templates if one.searches}
        self.fields["template"].initial = DEFAULT_TEMPLATE
        # app.js updates them when another template is chosen.
        self.template_values = {one.name: _values_of(one, cpus) for one in templates}
        self.template_facts = [(one.name, template_facts(one.name, cpus)) for one in templates]
        shown = self.template_values.get(str(self["template"].value()), {})
        for name in (*SIZES, "budget_minutes"):
            self.fields[name].widget.attrs["placeholder"] = shown.get(name, "")

    def clean_connections(self) -> list[int] | None:
        text = self.cleaned_data["connections"].strip()
        if not text:
            return None
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise forms.ValidationError(
                "Enter whole numbers separated by commas, such as 8 or 8, 32, 128."
            ) from None
        if min(numbers) < 1:
            raise forms.ValidationError("Each number of connections must be at least 1.")
        if len(numbers) > MAX_WORKLOADS:
            raise forms.ValidationError(f"A study can have at most {MAX_WORKLOADS} numbers.")
        return numbers

    @property
    def host_choice(self) -> FilteredChoice:
        """A checkbox for each host."""
        ticked = self["host"].value() or ()
        return self.hosts.boxes("host", self.hosts.known, ticked, says_idle=True)

    @property
    def load_host_choice(self) -> FilteredChoice:
        """A checkbox for each host that is not chosen to be measured."""
        others = [host for host in self.hosts.known if host.name not in self.hosts.names]
        ticked = self["load_host"].value() or ()
        return self.hosts.boxes("load_host", others, ticked, says_idle=False)

    @property
    def searches(self) -> bool:
        """Whether the chosen template searches."""
        return str(self["template"].value()) in self._searching

    @property
    def fields_that_say_errors(self) -> list[BoundField]:
        """Those on the page that have room for errors beside them, which a preview fills."""
        absent = {"durability", "keeps_duplicates", "search_warm_start"}
        return [field for field in self if field.name not in absent]

    @property
    def is_advanced_open(self) -> bool:
        """Whether one of the folded settings has a value of its own or an error."""
        return any(
            self[name].errors
            or self[name].value() not in (None, "", [], self.fields[name].initial)
            for name in ADVANCED
        )

    def server_path(self) -> Path | None:
        """The server binary, if one was entered."""
        return Path(self.cleaned_data["server"]) if self.cleaned_data["server"] else None

    def study_request(self, configs: list[ConfigText]) -> StudyRequest:
        """The request of the cleaned fields."""
        data = self.cleaned_data
        return StudyRequest(
            template=data["template"],
            name=data["name"],
            host=self.hosts.names[0] if self.hosts.chosen else "",
            devices=self.device_requests(),
            server=self.server_path(),
            driver=data["driver"],
            load_hosts=tuple(data["load_host"]),
            configs=[(config.name, config.data) for config in configs],
            warehouses=data["warehouses"],
            connections=data["connections"],
            warmup_s=data["warmup_s"],
            measure_s=data["measure_s"],
            blocks=data["blocks"],
            durability=data["durability"],
            translate_from=data["translate_from"],
            keeps_duplicates=data["keeps_duplicates"],
            races=data["races"],
            confirms=data["confirms"],
            takes_apart=data["takes_apart"],
            budget_minutes=data["budget_minutes"],
            allow=frozenset(data["allow"]),
            data_size=data["data_size"],
            memory=data["memory"],
            recovery=data["recovery"],
            search=self.search_request() if data["template"] in self._searching else None,
        )

    def max_connections(self, template: StudyTemplate) -> int:
        """The largest number of connections that the study would have."""
        asked: list[int] | None = self.cleaned_data["connections"]
        return max(asked or template.connections_on(self.hosts.logical_cpus))

    def add_refusal(self, error: TuningError | BenchmarkError) -> None:
        """Show a service's error beside the field it is about, or above the form."""
        field = self.field_of_device(error.field) or field_of_search(error.field) or error.field
        field = "host" if field == "hosts" else field
        # Where there is one host only, its choice is not shown.
        is_shown = field in self.fields and (field != "host" or self.hosts.are_several)
        self.add_error(field if is_shown else None, str(error))


def _values_of(template: StudyTemplate, cpus: int) -> dict[str, str]:
    """The template's sizes by field, shown in empty fields, for a host with so many CPUs."""
    values = {name: str(getattr(template, name)) for name in SIZES if name != "connections"}
    connections = ", ".join(map(str, template.connections_on(cpus)))
    minutes = "" if template.budget_minutes is None else str(template.budget_minutes)
    return values | {"connections": connections, "budget_minutes": minutes}
