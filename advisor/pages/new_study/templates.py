"""A study template as the page of a new study shows it: its candidates, size and duration."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.catalogue.knob import Durability
from tuning.creation.preview import template_seconds
from tuning.study_templates.loader import StudyTemplate

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
