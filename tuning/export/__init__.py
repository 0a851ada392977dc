"""The recommendation as files: what to set, what was measured, what was not, and the way back."""

from __future__ import annotations

from tuning.export.diff import patched_cnf, render_diff
from tuning.export.document import export_document, render_document
from tuning.export.facts import Effect, ExportFacts
from tuning.export.formats import FORMATS, Exported, ExportRequest, Format, export
from tuning.export.my_cnf import render_my_cnf
from tuning.export.persist import render_set_persist
from tuning.export.retarget import retarget
from tuning.export.rollback import render_rollback_cnf, render_rollback_sql

__all__ = [
    "FORMATS",
    "Effect",
    "ExportFacts",
    "ExportRequest",
    "Exported",
    "Format",
    "export",
    "export_document",
    "patched_cnf",
    "render_diff",
    "render_document",
    "render_my_cnf",
    "render_rollback_cnf",
    "render_rollback_sql",
    "render_set_persist",
    "retarget",
]
