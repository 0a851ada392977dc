"""Every kind of job that a host does. The next one is a module of its own and a line here."""

from __future__ import annotations

from typing import Any

from benchmarks.jobs.kinds import JobKind
from benchmarks.jobs.probes import ProbeKind
from benchmarks.jobs.runs import RunKind
from tuning.studies.early_stop import cut_rule_of
from tuning.studies.preparation import PreparationKind

KINDS: tuple[JobKind[Any], ...] = (PreparationKind(), RunKind(cutting=cut_rule_of), ProbeKind())
