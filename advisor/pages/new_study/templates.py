"""A study template as the form of a new study shows it: its candidates and its size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from advisor.wording.formatting import rough_duration
from tuning.catalogue.knob import Durability
from tuning.creation.preview import template_seconds
from tuning.study_templates.loader import StudyTemplate, load_template


@dataclass(frozen=True)
class TemplateView:
    """`connections` are those of the host."""

    template: StudyTemplate
    connections: str
    takes: str

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


@lru_cache(maxsize=256)
def template_facts(name: str, cpus: int) -> SafeString:
    """What the page says of the template, on a host where servers may use so many CPUs."""
    template = load_template(name)
    view = TemplateView(
        template,
        connections=", ".join(map(str, template.connections_on(cpus))),
        takes=rough_duration(template_seconds(template, cpus)),
    )
    return render_to_string("studies/_template.html", {"view": view})
