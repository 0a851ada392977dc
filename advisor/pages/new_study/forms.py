"""The form of a new study, and the request that it makes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from advisor.pages.configs.forms import ConfigFields
from advisor.pages.configs.texts import ConfigText
from advisor.pages.devices.forms import set_choices
from advisor.pages.finding import FilteredChoice
from advisor.pages.new_study.device_choice import StudyDevicesForm
from advisor.pages.new_study.templates import template_facts
from advisor.pages.request_fields import faults_of, field_of, given, request_fields
from benchmarks.errors import ExpectedError
from tuning.catalogue.costs import MEANING, CostKind
from tuning.errors import InvalidRequest
from tuning.requests.fields import read_request
from tuning.requests.search import SearchRequest
from tuning.requests.study import GroupRequest, StudyRequest
from tuning.study_templates.loader import StudyTemplate

# The first choice, selected by default.
DEFAULT_TEMPLATE = "search"
SIZES = ("warehouses", "connections", "blocks", "warmup_s", "measure_s")

# In the folded part of the page, which opens if one of them has a value or an error.
ADVANCED = (
    *("name", "server", "load_hosts", "data_size", "memory", "warehouses", "connections"),
    *("warmup_s", "races", "confirms", "recovery", "takes_apart"),
)
# Fields of the request that the page asks for in its own way.
_CHOSEN = frozenset(
    {
        *("template", "devices", "configs", "search", "host", "seed", "load_hosts"),
        *("durability", "translate_from"),
    }
)
SEARCH = "search_"
_LOAD_HOSTS = StudyRequest.model_fields["load_hosts"]


class NewStudyForm(StudyDevicesForm, ConfigFields):
    """The fields of a study's request. An empty field uses the template's or the host's value."""

    host = forms.MultipleChoiceField(
        label="Hosts",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "There is no host of that name: %(value)s."},
    )
    template = forms.ChoiceField()
    load_hosts = forms.MultipleChoiceField(
        label=_LOAD_HOSTS.title,
        help_text=_LOAD_HOSTS.description or "",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "There is no other host of that name: %(value)s."},
    )

    def __init__(self, *args: Any, templates: list[StudyTemplate], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [
            name
            for name in StudyRequest.model_fields
            if name not in _CHOSEN | {"durability", "translate_from"}
        ]
        made = request_fields(StudyRequest, names)
        made |= request_fields(SearchRequest, prefix=SEARCH)
        self.fields = made | self.fields
        self._set_choices(sorted(templates, key=lambda one: one.name != DEFAULT_TEMPLATE))
        shown = self.template_values.get(str(self["template"].value()), {})
        for name in (*SIZES, "budget_minutes"):
            self.fields[name].widget.attrs["placeholder"] = shown.get(name, "")

    def _set_choices(self, templates: list[StudyTemplate]) -> None:
        self.templates = templates
        set_choices(self, "template", [(one.name, one.title) for one in templates])
        set_choices(self, "allow", [(one.value, f"{one}: {MEANING[one]}") for one in CostKind])
        set_choices(self, "host", [(host.name, host.name) for host in self.hosts.known])
        self.initial.setdefault("host", self.hosts.names)
        others = [host.name for host in self.hosts.known if host.name not in self.hosts.names]
        set_choices(self, "load_hosts", [(name, name) for name in others])
        self.fields["server"].widget.attrs["list"] = "known-servers"
        cpus = self.hosts.logical_cpus
        self._searching = {one.name for one in templates if one.searches}
        self.fields["template"].initial = DEFAULT_TEMPLATE
        # app.js updates them when another template is chosen.
        self.template_values = {one.name: _values_of(one, cpus) for one in templates}
        self.template_facts = [(one.name, template_facts(one.name, cpus)) for one in templates]

    @property
    def host_choice(self) -> FilteredChoice:
        """A checkbox for each host."""
        ticked = self["host"].value() or ()
        return self.hosts.boxes("host", self.hosts.known, ticked, says_idle=True)

    @property
    def load_host_choice(self) -> FilteredChoice:
        """A checkbox for each host that is not chosen to be measured."""
        others = [host for host in self.hosts.known if host.name not in self.hosts.names]
        ticked = self["load_hosts"].value() or ()
        return self.hosts.boxes("load_hosts", others, ticked, says_idle=False)

    @property
    def searches(self) -> bool:
        """Whether the chosen template searches."""
        return str(self["template"].value()) in self._searching

    @property
    def fields_that_say_errors(self) -> list[BoundField]:
        """Those on the page that have room for errors beside them, which a preview fills."""
        return [
            field
            for field in self
            if field.name != "durability" and not isinstance(field.field, forms.BooleanField)
        ]

    @property
    def is_advanced_open(self) -> bool:
        """Whether one of the folded settings has a value of its own or an error."""
        return any(
            self[name].errors
            or self[name].value() not in (None, "", [], self.fields[name].initial)
            for name in ADVANCED
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        try:
            self.study_request([])
        except InvalidRequest as error:
            self.add_refusal(error)
        return data

    def study_request(self, configs: list[ConfigText]) -> StudyRequest | GroupRequest:
        """The request of the cleaned fields; of several hosts, that for all. Raises BadRequest."""
        data = self.cleaned_data
        content = given(StudyRequest, data | {"host": None, "devices": None})
        content["devices"] = self.devices_asked()
        content["configs"] = [config.requested for config in configs]
        if data.get("template") in self._searching:
            content["search"] = given(SearchRequest, data, prefix=SEARCH)
        if len(self.hosts.chosen) > 1:
            return read_request(GroupRequest, content | {"hosts": self.hosts.names})
        host = self.hosts.names[0] if self.hosts.chosen else ""
        return read_request(StudyRequest, content | {"host": host})

    def add_refusal(self, error: ExpectedError) -> None:
        """Show a service's error beside the field it is about, or above the form."""
        named = [(self._field_of(path), reason) for path, reason in faults_of(error)]
        for field, reason in named:
            # Where there is one host only, its choice is not shown.
            is_shown = field != "host" or self.hosts.are_several
            if field not in self.errors:
                self.add_error(field if is_shown else None, reason)

    def _field_of(self, path: str) -> str | None:
        if path.startswith("devices["):
            return self.field_of_device(path)
        return field_of("host" if path.startswith("hosts") else path, self.fields)


def _values_of(template: StudyTemplate, cpus: int) -> dict[str, str]:
    """The template's sizes by field, shown in empty fields, for a host with so many CPUs."""
    values = {name: str(getattr(template, name)) for name in SIZES if name != "connections"}
    connections = ", ".join(map(str, template.connections_on(cpus)))
    minutes = "" if template.budget_minutes is None else str(template.budget_minutes)
    return values | {"connections": connections, "budget_minutes": minutes}
