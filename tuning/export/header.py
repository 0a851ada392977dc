"""The header of every file: where the figures come from, and what was not tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuning.export.comments import CNF, comment, item, labelled
from tuning.export.facts import ExportFacts
from tuning.export.safety import WARNINGS, durability_of_export, warnings
from tuning.export.words import TPMP, baseline_in_model, measured, not_tested


def header(
    facts: ExportFacts,
    title: str,
    *,
    mark: str = CNF,
    undo: bool = False,
    own: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of the header, all of them comments; `undo` for a file without the new values.

    `own` are warnings about lines of the user's own file that are kept and are below D0.
    """
    yield from comment(f"{title} by the MySQL OLTP tuning advisor", mark=mark)
    yield mark
    for warning in own if undo else (*warnings(facts), *own):
        yield from comment(warning, mark=mark)
    if facts.model is not None and facts.as_measured:
        text = f"As measured in the {facts.model.title}: too small for the real server."
        yield from comment(f"WARNING: {text}", mark=mark)
        yield mark
    yield from labelled("Study", facts.study, mark=mark)
    if facts.study_url:
        yield from labelled("Link", facts.study_url, mark=mark)
    yield from labelled("Date", facts.date, mark=mark)
    yield from labelled("Device", facts.device, mark=mark)
    yield from labelled("Server", _server(facts), mark=mark)
    yield from labelled("Candidate", facts.candidate, mark=mark)
    if facts.source:
        yield from labelled("Origin", facts.source, mark=mark)
    if baseline := baseline_in_model(facts):
        yield from labelled("Baseline", baseline, mark=mark)
    for effect in facts.effects:
        yield from labelled("Workload", effect.workload, mark=mark)
        if facts.proportion:
            yield from labelled("Proportion", facts.proportion, mark=mark)
        yield from labelled("Measured", measured(effect, facts), mark=mark)
    if facts.verdict:
        yield from labelled("Verdict", facts.verdict, mark=mark)
    if undo:
        return
    given = durability_of_export(facts)
    mixed = f"{given} for the recommended lines; your file keeps lines that are less safe."
    yield from labelled("Durability", mixed if own else WARNINGS[given], mark=mark)
    yield mark
    yield from comment(TPMP, mark=mark)
    yield mark
    yield from comment("Not tested:", mark=mark)
    for untested in not_tested(facts):
        yield from item(untested, mark=mark)


def left_behind(facts: ExportFacts, *, mark: str = CNF) -> list[str]:
    """The knobs of the original config that this file does not have, as a list."""
    return [
        line
        for note in facts.notes
        if note.name not in facts.knobs
        for line in item(f"{note.name} ({note.action}): {note.detail}", mark=mark)
    ]


def _server(facts: ExportFacts) -> str:
    log = facts.candidate_variables.get("log_bin", "")
    state = f", binary log {log}" if log in ("ON", "OFF") else ""
    return f"{facts.server}{state}"
