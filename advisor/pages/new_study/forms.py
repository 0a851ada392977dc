"""The form of a new study, and the request that it makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from advisor.pages.configs.texts import ConfigText, FilesForm
from advisor.pages.devices.forms import set_choices
from advisor.pages.new_study.device_choice import StudyDevicesForm
from advisor.pages.request_fields import faults_of, field_of, given, request_fields
from advisor.wording.words import STUDY_MAY_HAVE
from benchmarks.errors import ExpectedError
from tuning.catalogue.costs import MEANING, CostKind
from tuning.catalogue.knob import Durability
from tuning.creation.preview import template_seconds
from tuning.errors import InvalidRequest
from tuning.requests.fields import read_request
from tuning.requests.search import SearchRequest
from tuning.requests.study import GroupRequest, StudyRequest
from tuning.studies.server_profiles import newest_profiles
from tuning.study_templates.loader import YOUR_SERVER, StudyTemplate, load_template, template_names

#: Fields of the form whose empty value means the template's.
SIZES = ("warehouses", "connections", "blocks", "warmup_s", "measure_s", "budget_minutes")


@dataclass(frozen=True)
class TemplateView:
    """A template on a host whose servers may use so many CPUs."""

    template: StudyTemplate
    cpus: int

    @property
    def candidates(self) -> str:
        """The names, such as `a (baseline), b, c`."""
        template = self.template
        return ", ".join(
            f"{name} (baseline)" if name == template.baseline else name
            for name in template.candidates
        )

    @property
    def connections(self) -> str:
        return ", ".join(map(str, self.template.connections_on(self.cpus)))

    @property
    def seconds(self) -> float:
        return template_seconds(self.template, self.cpus)

    @property
    def is_safe(self) -> bool:
        """Whether all of its own candidates are D0."""
        return self.template.durability is Durability.D0

    @property
    def sizes(self) -> dict[str, str]:
        """The sizes by field, which the form shows in grey."""
        sizes = {name: getattr(self.template, name) for name in SIZES if name != "connections"}
        texts = {name: "" if size is None else str(size) for name, size in sizes.items()}
        return texts | {"connections": self.connections}


# The first choice, selected by default.
DEFAULT_TEMPLATE = "search"
# In the folded part of the page, which opens if one of them has a value or an error.
ADVANCED = (
    *("name", "server", "load_host", "connections", "workload", "tables", "table_size"),
    "profile",
    *("warmup_s", "races", "confirms", "recovery", "binary_log", "ablates"),
)
# Fields of the request that the page asks for in its own way.
_CHOSEN = frozenset(
    {
        *("template", "devices", "configs", "search", "host", "seed", "load_host"),
        *("durability", "translate_from", "profile"),
    }
)
SEARCH = "search_"
_LOAD_HOST = StudyRequest.model_fields["load_host"]
_PROFILE = StudyRequest.model_fields["profile"]
# The page's own words for fields whose description is meant for programs.
_HELP = {
    "profile": "The server's config is the baseline. Its sizes and connections are the study's.",
    "data_size": "Such as 200G, as in a my.cnf, or 200GB (10^9 bytes). With the memory, the study "
    "is a scale model of that server, and the recommendation fits the real sizes.",
    "budget_minutes": "The study ends after this time instead of after a number of blocks.",
}
_YES_NO = {True: "yes", False: "no"}


class NewStudyForm(StudyDevicesForm, FilesForm):
    """The fields of a study's request. An empty field uses the template's or the host's value."""

    host = forms.MultipleChoiceField(
        label="Hosts",
        required=False,
        error_messages={"invalid_choice": "There is no host of that name: %(value)s."},
    )
    template = forms.ChoiceField(initial=DEFAULT_TEMPLATE)
    profile = forms.TypedChoiceField(
        label=_PROFILE.title,
        help_text=_PROFILE.description or "",
        required=False,
        coerce=int,
        empty_value=None,
        error_messages={"invalid_choice": "There is no profile of that number."},
    )
    durability = forms.TypedChoiceField(
        label="Least safe class to accept",
        required=False,
        choices=STUDY_MAY_HAVE,
        coerce=Durability,
        empty_value=Durability.D0,
        initial=Durability.D0.value,
        widget=forms.RadioSelect,
    )
    load_host = forms.ChoiceField(
        label=_LOAD_HOST.title,
        help_text=_LOAD_HOST.description or "",
        required=False,
        error_messages={"invalid_choice": "There is no other host of that name: %(value)s."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        made = request_fields(
            StudyRequest, [name for name in StudyRequest.model_fields if name not in _CHOSEN]
        )
        made |= request_fields(SearchRequest, prefix=SEARCH)
        self.fields = made | self.fields
        for name, text in _HELP.items():
            self.fields[name].help_text = text
        cpus, found = self.hosts.logical_cpus, map(load_template, template_names())
        templates = sorted(found, key=lambda one: one.name != DEFAULT_TEMPLATE)
        self.template_views = [TemplateView(one, cpus) for one in templates]
        self.initial.setdefault("host", self.hosts.names)
        set_choices(self, "template", [(one.name, one.title) for one in templates])
        set_choices(self, "allow", [(one.value, f"{one}: {MEANING[one]}") for one in CostKind])
        set_choices(self, "host", [(host.name, host.name) for host in self.hosts.known])
        others = [(host.name, host.name) for host in self.hosts.others]
        set_choices(self, "load_host", [("", "The measured host"), *others])
        profiles = [(f"{row.pk}", f"{row.name} ({row.pk})") for row in newest_profiles()]
        set_choices(self, "profile", [("", "None"), *profiles])
        self.fields["server"].widget.attrs["list"] = "known-servers"
        shown = self.template_values.get(str(self["template"].value()), {})
        for name in SIZES:
            self.fields[name].widget.attrs["placeholder"] = shown.get(name, "")

    @property
    def template_values(self) -> dict[str, dict[str, str]]:
        """The sizes of each template, which app.js shows when another template is chosen."""
        return {view.template.name: view.sizes for view in self.template_views}

    @property
    def chosen_template(self) -> StudyTemplate | None:
        chosen, views = self["template"].value(), self.template_views
        return next((view.template for view in views if view.template.name == chosen), None)

    @property
    def searches(self) -> bool:
        """Whether the chosen template searches."""
        return self.chosen_template is not None and self.chosen_template.searches

    @property
    def fields_that_say_errors(self) -> list[BoundField]:
        """The fields with room for errors beside them, which a preview fills."""
        return [
            field
            for field in self
            if field.name != "durability" and not isinstance(field.field, forms.BooleanField)
        ]

    @property
    def is_advanced_open(self) -> bool:
        """Whether one of the folded settings has a value of its own or an error."""
        return self._is_any_set(ADVANCED)

    @property
    def is_search_open(self) -> bool:
        """Whether one of the settings of a search has a value of its own or an error."""
        return self._is_any_set(f"{SEARCH}{name}" for name in SearchRequest.model_fields)

    def _is_any_set(self, names: Iterable[str]) -> bool:
        return any(
            self[name].errors
            or self[name].value() not in (None, "", [], self.fields[name].initial)
            for name in names
            if name in self.fields
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        try:
            self.study_request([])
        except InvalidRequest as error:
            self.add_refusal(error)
        return data

    def study_request(self, configs: list[ConfigText]) -> StudyRequest | GroupRequest:
        """Return the request of the cleaned fields; for several hosts, the request for all.

        Raises InvalidRequest, and InvalidConfig for a file that is no text.
        """
        data = self.cleaned_data
        content = given(StudyRequest, data | {"host": None, "devices": None})
        content["devices"] = self.devices_asked()
        content["configs"] = [config.requested for config in configs]
        if data.get("template") == YOUR_SERVER and configs and not content.get("profile"):
            content.setdefault("baseline", configs[0].name)
        if self.searches:
            content["search"] = given(SearchRequest, data, prefix=SEARCH)
        return self._on_hosts(content)

    def usual_request(self) -> StudyRequest | GroupRequest:
        """Return the request of the form before anything was typed."""
        chosen = [
            {"id": int(pk)} for pk in self.initial.get("devices", ()) if pk in self.registered
        ]
        content: dict[str, Any] = {"template": str(self["template"].value()), "devices": chosen}
        if connections := self["connections"].value():
            content["connections"] = connections
        profile = self["profile"].value()
        return self._on_hosts(content | ({"profile": int(profile)} if profile else {}))

    def _on_hosts(self, content: dict[str, Any]) -> StudyRequest | GroupRequest:
        names = self.hosts.names
        if len(names) > 1:
            return read_request(GroupRequest, content | {"hosts": names})
        return read_request(StudyRequest, content | {"host": "".join(names)})

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


def initial_of(request: StudyRequest) -> dict[str, Any]:
    """Return the values of the form's fields, by name, that ask for the same again."""
    values = request.as_json()
    search = values.pop("search", {})
    typed = request.search.typed if request.search else {}
    values |= {f"{SEARCH}{name}": value for name, value in (search | typed).items()}
    return {
        **{name: _typed(name, value) for name, value in values.items()},
        "template": request.template,
        "host": [request.host],
        "devices": [str(device.id) for device in request.devices],
    }


def _typed(name: str, value: Any) -> Any:
    """Return the value as a user types it."""
    if name in ("races", "confirms", "ablates", "recovery"):
        return _YES_NO[value]
    if name == "connections":
        return ", ".join(map(str, value))
    is_text = name.startswith(SEARCH) and isinstance(value, list)
    return "\n".join(value) if is_text else value
