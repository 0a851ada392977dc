"""Study templates: ready-made studies, each a readable YAML file in this folder."""

from __future__ import annotations

from tuning.study_templates.claims import Claim
from tuning.study_templates.loader import (
    StudyTemplate,
    TemplateVariant,
    load_template,
    template_names,
)

__all__ = ["Claim", "StudyTemplate", "TemplateVariant", "load_template", "template_names"]
