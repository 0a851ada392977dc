"""A study template as the form of a new study shows it: its candidates and its size."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.formatting import rough_duration
from tuning.catalogue.knob import Durability
from tuning.studies.template_time import template_seconds
from tuning.study_templates.loader import StudyTemplate


@dataclass(frozen=True)
class TemplateView:
    """`connections` are those of the host; `is_chosen` says whether the form shows it now."""

    template: StudyTemplate
    connections: str
    takes: str
    is_chosen: bool

    @property
    def candidates(self) -> str:
        """As `a (baseline), b, c`."""
        template = self.template
        return ", ".join(
            f"{name} (baseline)" if name == template.baseline else name
            for name in template.candidates
        )

    @property
    def is_safe(self) -> bool:
        """Whether all of its own candidates are D0."""
        return self.template.durability is Durability.D0


def template_view(template: StudyTemplate, cpus: int, *, is_chosen: bool) -> TemplateView:
    """The template on a host where servers may use so many CPUs."""
    return TemplateView(
        template,
        connections=", ".join(map(str, template.connections_on(cpus))),
        takes=rough_duration(template_seconds(template, cpus)),
        is_chosen=is_chosen,
    )
