"""The head of every file, at most ten lines, and the one comment of each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.catalogue.facts import Dynamic
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import Expected
from tuning.configs.readback import effective_values
from tuning.configs.rules import broken_rules
from tuning.configs.values import readable_value, same
from tuning.configs.variables import POOL
from tuning.errors import InvalidConfig, Problem, TuningError
from tuning.export.answer import answer_of
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, losing_lines, value_text
from tuning.scale_model.model import ScaleModel, is_scaled, on_real_server
from tuning.scale_model.sizes import size_text

CNF = "#"
SQL = "--"  # followed by a space, without which MySQL reads two minus signs
# Servers read an option file in pieces of 4 KiB, and the rest of a longer line would be an option.
# A letter takes up to 4 bytes.
_MAX_LETTERS = 900

WARNINGS = {
    Durability.D1: "D1: WARNING - with this file a crash can lose the last commits.",
    Durability.D2: "D2: WARNING - with this file a crash can corrupt the database.",
}
_CHANGES = {
    Dynamic.RESTART: "requires a restart",
    Dynamic.GLOBAL: "dynamic",
    Dynamic.SESSION: "dynamic, for new connections",
    Dynamic.PARTLY: "some changes require a restart",
    Dynamic.NO_EFFECT: "has no effect on this server",
}


def comment(text: str, mark: str = CNF) -> str:
    """Return `text` as one comment line, cut where no server would read all of it."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    cut = plain if len(plain) <= _MAX_LETTERS else f"{plain[:_MAX_LETTERS]} ..."
    return f"{mark} {cut}".rstrip()


def durability_of_export(facts: ExportFacts, lines: Sequence[Line]) -> Durability:
    """Return the class of the least safe line: as requested, as written or as measured."""
    return max((one.durability for one in losing_lines(lines, facts)), default=Durability.D0)


def require_acknowledged(
    facts: ExportFacts, lines: Sequence[Line], acknowledged: Durability
) -> None:
    """Raise TuningError (durability_not_acknowledged), naming what each line may lose.

    Before that InvalidConfig, for values that the server would refuse or change.
    """
    knobs = {one.name: one.value for one in lines} if facts.model else facts.knobs
    name = facts.candidate.name
    if broken := broken_rules(Expected(knobs, facts.server)):
        raise InvalidConfig([Problem(name, None, *found) for found in broken])
    given = durability_of_export(facts, lines)
    if given > acknowledged:
        losing = losing_lines(lines, facts)
        costs = "; ".join(one.cost for one in losing if one.durability > acknowledged)
        raise TuningError(
            "durability_not_acknowledged",
            f"{name} is durability class {given}; exporting it must be acknowledged: {costs}",
            field="acknowledge",
        )


def head(
    facts: ExportFacts,
    lines: Sequence[Line],
    title: str,
    *,
    mark: str = CNF,
    undo: bool = False,
    own: str = "",
) -> list[str]:
    """Return the comments at the top of a file; undo: it has the old values.

    own: what lines of the user's own file may lose.
    """
    given = durability_of_export(facts, lines)
    costs = "; ".join(f"WARNING: {one.cost}" for one in losing_lines(lines, facts))
    warning = f"{WARNINGS.get(given, '')} This was acknowledged. {costs}"
    answer = answer_of(facts, lines)
    log = facts.candidate_variables.get("log_bin", "")
    state = f", binary log {log}" if log in ("ON", "OFF") else ""
    parts, shown = dict(answer.sentences), ("Confidence",) if undo else ("Confidence", "Price")
    texts = [
        f"{title} by the MySQL OLTP tuning advisor, {facts.date}: study {facts.study}",
        f"All evidence: {facts.study_url}" if facts.study_url else "",
        "" if undo or given is Durability.D0 else warning,
        f"WARNING: {own}" if own else "",
        f"{answer.title}: {answer.effect}".removesuffix(": "),
        *(f"{name}: {parts[name]}" for name in shown if name in parts),
        f"Tested with: {facts.server}{state}; {facts.device_text}; {facts.workload.name}. "
        f"{facts.board.proportion} {_baseline_in_model(facts)}",
        f"Before production: {answer.next_step}" if answer.next_step and not undo else "",
    ]
    return [comment(text, mark) for text in texts if text]


def about(line: Line, facts: ExportFacts, was: str | None = None) -> str:
    """Return the comment of a line; was: the old value of the user's own file, "" if unchanged."""
    old = f"was {was}" if was else ""
    if was is None and line.default is not None:
        old = f"default {value_text(line, line.default)}"
    parts = [old, line.evidence, _CHANGES[line.dynamic] if line.dynamic else ""]
    parts += [f"WARNING: {line.cost}"] if line.durability > Durability.D0 else []
    parts += [f"costs {one.kind}: {one.loses}" for one in line.costs]
    if line.value.lower() != line.requested.lower():
        parts.append(f"requested {value_text(line, line.requested)}, used as the server had it")
    parts += [note["detail"] for note in facts.candidate.notes if note["name"] == line.name]
    if line.in_model and facts.model is not None:
        parts.append(sized_back(line, facts.model))
    elif line.name not in facts.knobs:
        parts.append("not requested: it keeps the measured value, the default is less safe")
    if line.name == POOL and facts.model is None:
        data = human_bytes(facts.workload.data_bytes)
        parts.append(f"size it for your own data and memory: this is for the tested data ({data})")
    return sentence("; ".join(part.rstrip(".") for part in parts if part))


def sized_back(line: Line, model: ScaleModel) -> str:
    """ "measured as 168M in the scale model 1:200, which is 33G here (70 % of the memory)"."""
    share = ""
    if line.name == POOL:
        of = percent(int(line.value) / model.memory_bytes)
        share = f" ({of} of {size_text(model.memory_bytes)})"
    is_default = line.default is not None and same(line.default, line.in_model)
    asked = ", its default," if is_default else ""
    there, here = value_text(line, line.in_model), value_text(line, line.value)
    return f"measured as {there}{asked} in the {model.title}, which is {here} here{share}"


def not_in_the_file(facts: ExportFacts, lines: Sequence[Line]) -> Iterator[str]:
    """Yield what the recommendation has no line for, and why."""
    if unwritten := [line.name for line in lines if not line.written]:
        yield f"Left out because they are the server's defaults: {', '.join(unwritten)}"
    if facts.left_out:
        found = "; ".join(
            f"{', '.join(_left_out(name, facts) for name in one.names)}: {one.text}"
            for one in facts.left_out
        )
        yield f"No measurable effect, so left out: {found}"
    gone = [
        f"{note['name']} ({note['action']}): {note['detail']}"
        for note in facts.candidate.notes
        if note["name"] not in facts.knobs
    ]
    if gone:
        yield f"In the original config, but not in this file: {'; '.join(gone)}"


def sentence(text: str) -> str:
    """Return the text, such as the detail of a note, with capital and full stop."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _left_out(name: str, facts: ExportFacts) -> str:
    """Return the text of a left-out line, with both values in a scale model."""
    knob, value, model = load_catalogue().get(name), facts.winner_knobs[name], facts.model
    if model is None or not is_scaled(name):
        return f"{name} = {readable_value(knob, value)}"
    here = on_real_server(name, value, model, facts.server, facts.knobs)
    there = f"{readable_value(knob, value)} in the {model.title}"
    return f"{name} = {readable_value(knob, here)} ({there})"


def _baseline_in_model(facts: ExportFacts) -> str:
    """Size the baseline of a scale model back to the real server; "" where that is unknown.

    A server with its defaults there has a far smaller pool than what the figures compare with.
    """
    read = effective_values([POOL], facts.baseline_variables, facts.server)
    pool = read.get(POOL) or facts.baseline_knobs.get(POOL)
    if facts.model is None or pool is None:
        return ""
    there = on_real_server(POOL, pool, facts.model, facts.server, facts.baseline_knobs)
    knob = load_catalogue().knobs[POOL]
    return (
        f"Baseline: {facts.baseline.name}; its buffer pool of {readable_value(knob, pool)} in the "
        f"model stands for {readable_value(knob, there)} on the real server."
    )
