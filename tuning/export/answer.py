"""The answer of a board: what to set, the effect, how sure it is, the price, and what to do next.

Page, terminal, files and API show these sentences, so that all of them have the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.counted import counted, length_text
from benchmarks.drivers.workloads import TPCC
from tuning.catalogue.costs import MEANING, CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import Expected
from tuning.configs.readback import effective_values, shown_redo_bytes
from tuning.configs.values import readable_value
from tuning.configs.variables import POOL
from tuning.export.changes import ChangeMode
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, absent_names, losing_lines, running_values, value_text
from tuning.results.confidence import confidence_of
from tuning.results.document import Answer, ChangedLine, Reduced
from tuning.scale_model.model import is_scaled
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.data import Metric


def answer_of(facts: ExportFacts, lines: Sequence[Line]) -> Answer:
    """Return the answer; lines: every variable of the recommendation."""
    board, keeps = facts.board, facts.keeps_baseline
    changed = [] if keeps else [line for line in lines if line.changed]
    absent = [] if keeps else absent_names(facts, lines)
    confidence = confidence_of(facts.document, board, facts.found)
    title = f"Keep {facts.baseline.name}" if keeps else f"{_to_do(facts, changed, absent)}"
    equals, row = _equals(facts), board.row(facts.candidate.id)
    well = f"{', '.join(equals)} {'do' if equals[1:] else 'does'} equally well."
    return Answer(
        recommendation_id=facts.found.id,
        title=f"{title} {_place(facts)}".rstrip(),
        lines=tuple(_changed_lines(changed, absent, facts)),
        effect="" if keeps else _effect(facts),
        confidence=confidence.word,
        reason=confidence.reason,
        equals=well if equals else "",
        price="" if keeps else _price(facts, lines, absent),
        limit=row.limit if row else "",
        next_step="" if keeps else _next_step(facts, changed, absent, confidence.needed_s),
    )


def _to_do(facts: ExportFacts, changed: Sequence[Line], absent: Sequence[str]) -> str:
    """ "Set 2 lines, leave out 1 line"; configs may differ only in where the redo log is."""
    parts = [f"set {counted(len(changed), 'line')}"] if changed else []
    parts += [f"leave out {counted(len(absent), 'line')}"] if absent else []
    return f"{(', '.join(parts) or 'no line differs').capitalize()} ({facts.candidate.name})"


def _place(facts: ExportFacts) -> str:
    """Return what tells the board from the study's others, as "on nvme with 8 connections"."""
    document, board, words = facts.document, facts.board, []
    if board.device_id in document.named_devices:
        words.append(f"on {document.short_names[board.device_id]}")
    if len(document.workloads) > 1:
        words.append(f"with {counted(facts.workload.connections, 'connection')}")
    if board.durability != Durability.D0:
        words.append(f"at durability {board.durability}")
    return " ".join(words)


def _equals(facts: ExportFacts) -> list[str]:
    """Return the names of the configs that do equally well."""
    ranking = facts.board.advice
    standing = ranking.standing(facts.found.whole_id or facts.candidate.id)
    if standing is None or facts.keeps_baseline:
        return []
    better = {one.candidate_id for one in ranking.standings if one.better}
    return [facts.document.candidate[pk].name for pk in standing.tied_with if pk in better]


def _changed_lines(
    changed: Sequence[Line], absent: Sequence[str], facts: ExportFacts
) -> Iterator[ChangedLine]:
    names = [*(line.name for line in changed), *absent]
    there = running_values(facts, facts.baseline_variables, facts.baseline_knobs, names)
    for line in changed:
        before = value_text(line, there.get(line.name) or line.default) or "not set"
        before += " in the scale model" if line.in_model else ""
        yield ChangedLine(name=line.name, before=before, value=value_text(line, line.value))
    for name in absent:
        before = readable_value(load_catalogue().get(name), there[name])
        before += " in the scale model" if facts.model and is_scaled(name) else ""
        yield ChangedLine(name=name, before=before, value="the server's default")


def _effect(facts: ExportFacts) -> str:
    """ "+42.4 % throughput (95 % interval +31.0 to +52.0 %) against my.cnf in 5 fresh pairs."."""
    found = facts.found
    estimates = [(found.objective_effect, FULL_NAMES[found.objective])]
    estimates.append((found.effect, FULL_NAMES[Metric.THROUGHPUT]))
    texts = [
        estimate.change(name) + ("" if estimate.has_interval else " (no interval was computed)")
        for estimate, name in estimates
        if estimate is not None
    ]
    return f"{' and '.join(texts)} against {facts.baseline.name} in {_seen(facts)}."


def _reduced(facts: ExportFacts) -> Reduced | None:
    """Return the rounds of the recommended config if it is the winner without some lines."""
    ablation = facts.board.ablation
    return ablation.reduced if ablation is not None and facts.found.whole_id else None


def _seen(facts: ExportFacts) -> str:
    """Return in how many fresh pairs or blocks the effect was measured."""
    board, found = facts.board, facts.found
    reduced = _reduced(facts)
    pairs = next((p for p in board.confirmations if p.candidate_id == found.candidate_id), None)
    fresh = reduced.blocks if reduced is not None else 0
    if reduced is None and pairs and found.confirmation == ConfirmationState.CONFIRMED:
        fresh = pairs.throughput_pairs
    if fresh:
        return f"{fresh} fresh pairs"
    standing = board.rankings[Metric.THROUGHPUT].standing(found.candidate_id)
    return counted(standing.blocks if standing else 0, "block")


def _price(facts: ExportFacts, lines: Sequence[Line], absent: Sequence[str]) -> str:
    """Memory, disk, recovery, durability, restart, other costs and the response time."""
    here = _held(facts, facts.candidate_variables, facts.knobs)
    there = _held(facts, facts.baseline_variables, facts.baseline_knobs)
    if facts.model is not None:  # the baseline's sizes are those of the model
        here = _held(facts, {}, {line.name: line.value for line in lines if line.written})
        there = (None, None)
    losing, kinds = losing_lines(lines, facts), {one.kind for line in lines for one in line.costs}
    restart = bool(absent) or any(
        line.written and line.how in (ChangeMode.RESTART, ChangeMode.FILE) for line in lines
    )
    grows = there[1] is not None and (here[1] or 0) > there[1]
    more_redo = grows or CostKind.RECOVERY_TIME in kinds
    untimed = "crash recovery not timed" + (", longer with a larger redo log" if more_redo else "")
    given = max((line.durability for line in losing), default=Durability.D0)
    board = facts.board
    row, default = _reduced(facts) or board.row(facts.candidate.id), board.row(board.baseline_id)
    ours, theirs = (one.figures.p95_ms if one else None for one in (row, default))
    is_timed = ours is not None and theirs is not None
    parts = [
        _size("memory for the buffer pool", here[0], there[0]),
        _size("disk for the redo log", here[1], there[1]),
        facts.recovery or untimed,
        f"durability {given}" if losing else "no durability lost by these lines",
        "a restart" if restart else "no restart",
        *(MEANING[kind] for kind in sorted(kinds - {CostKind.RECOVERY_TIME})),
        f"p95 {ours:.1f} ms instead of {theirs:.1f} ms" if is_timed else "",
    ]
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}."


def _size(what: str, here: int | None, there: int | None) -> str:
    """ "3712M more memory for the buffer pool"; "" if unknown or the same."""
    if here is None or here == there:
        return ""
    knob, change = load_catalogue().knobs[POOL], here - (there or 0)
    word = "of" if there is None else "more" if change > 0 else "less"
    return f"{readable_value(knob, f'{abs(change)}')} {word} {what}"


def _held(
    facts: ExportFacts, variables: Mapping[str, str], knobs: Mapping[str, str]
) -> tuple[int | None, int | None]:
    """Return the bytes of the buffer pool and of the redo log; None where unknown."""
    seen = effective_values([POOL], variables, facts.server)
    expected = Expected({**knobs, **seen}, facts.server)
    redo = shown_redo_bytes(variables, facts.server, knobs) if variables else None
    return expected.pool(), expected.redo() if redo is None else redo


def _next_step(
    facts: ExportFacts, changed: Sequence[Line], absent: Sequence[str], needed_s: float | None
) -> str:
    again, names = [], [*(line.name for line in changed), *absent]
    if facts.workload.kind == TPCC and facts.model is None and any(map(is_scaled, names)):
        again.append("with your own data size and memory")
    if needed_s:
        again.append(f"with runs of about {length_text(needed_s)}")
    steps = [f"Run again {' and '.join(again)}."] if again else []
    if facts.model is not None:
        steps.append(f"Try it on a replica: every figure is from the {facts.model.title}.")
    if facts.device_untested:
        steps.append(f"Not tested: {facts.device_untested}.")
    if absent and facts.file is not None:
        steps.append("Your file keeps the lines to leave out: take them out by hand.")
    return " ".join(steps) or "Try it on a replica, with the rollback file at hand."
