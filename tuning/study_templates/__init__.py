"""Study templates: ready-made studies, each a readable YAML file in this folder."""

from __future__ import annotations

from tuning.study_templates.loader import StudyTemplate, load_template, template_names

__all__ = ["StudyTemplate", "load_template", "template_names"]
