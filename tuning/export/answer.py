"""The answer of a board: what to set, the effect, how sure it is, the price, and what to do next.

Page, terminal, files and API show these sentences, so that all of them have the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.counted import counted, length_text
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
from tuning.results.document import Answer, ChangedLine
from tuning.scale_model.model import is_scaled
from tuning.statistics.aim import FULL_NAMES


def answer_of(facts: ExportFacts, lines: Sequence[Line]) -> Answer:
    """Return the answer; lines: every variable of the recommendation."""
    changed, absent = [line for line in lines if line.changed], absent_names(facts, lines)
    if facts.keeps_baseline:
        title, changed, absent = f"Keep {facts.baseline}", [], []
    else:
        title = f"{_to_do(len(changed), len(absent))} ({facts.candidate})"
    well = f"{', '.join(facts.equals)} {'do' if facts.equals[1:] else 'does'} equally well."
    return Answer(
        recommendation_id=facts.recommendation,
        title=f"{title} {facts.place}".rstrip(),
        lines=tuple(_changed_lines(changed, absent, facts)),
        effect="" if facts.keeps_baseline else _effect(facts),
        confidence=facts.confidence.word,
        reason=facts.confidence.reason,
        equals=well if facts.equals else "",
        price="" if facts.keeps_baseline else _price(facts, lines, absent),
        limit=facts.limit,
        next_step="" if facts.keeps_baseline else _next_step(facts, changed, absent),
    )


def _to_do(changed: int, absent: int) -> str:
    """ "Set 2 lines, leave out 1 line"; configs may differ only in where the redo log is."""
    parts = [f"set {counted(changed, 'line')}"] if changed else []
    parts += [f"leave out {counted(absent, 'line')}"] if absent else []
    return (", ".join(parts) or "no line differs").capitalize()


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
        before += " in the scale model" if facts.sizes_back and is_scaled(name) else ""
        yield ChangedLine(name=name, before=before, value="the server's default")


def _effect(facts: ExportFacts) -> str:
    """ "+42.4 % throughput (95 % interval +31.0 to +52.0 %) against my.cnf in 5 fresh pairs."."""
    effect = facts.effect
    found = [(effect.objective, FULL_NAMES[effect.metric]), (effect.throughput, "throughput")]
    texts = [
        estimate.change(name) + ("" if estimate.has_interval else " (no interval was computed)")
        for estimate, name in found
        if estimate is not None
    ]
    seen = f"{effect.fresh_pairs} fresh pairs" if effect.fresh_pairs else ""
    seen = seen or counted(effect.blocks, "block")
    return f"{' and '.join(texts) or 'No figure'} against {facts.baseline} in {seen}."


def _price(facts: ExportFacts, lines: Sequence[Line], absent: Sequence[str]) -> str:
    """Memory, disk, recovery, durability, restart, other costs and the response time."""
    here = _held(facts, facts.candidate_variables, facts.knobs)
    there = _held(facts, facts.baseline_variables, facts.baseline_knobs)
    if facts.sizes_back is not None:  # the baseline's sizes are those of the model
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
    parts = [
        _size("memory for the buffer pool", here[0], there[0]),
        _size("disk for the redo log", here[1], there[1]),
        facts.recovery or untimed,
        f"durability {given}" if losing else "no durability lost by these lines",
        "a restart" if restart else "no restart",
        *(MEANING[kind] for kind in sorted(kinds - {CostKind.RECOVERY_TIME})),
    ]
    ours, theirs = facts.effect.figures.p95_ms, facts.effect.baseline.p95_ms
    if ours is not None and theirs is not None:
        parts.append(f"p95 {ours:.1f} ms instead of {theirs:.1f} ms")
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


def _next_step(facts: ExportFacts, changed: Sequence[Line], absent: Sequence[str]) -> str:
    again, names = [], [*(line.name for line in changed), *absent]
    if facts.can_be_scaled and facts.model is None and any(map(is_scaled, names)):
        again.append("with your own data size and memory")
    if facts.confidence.needed_s:
        again.append(f"with runs of about {length_text(facts.confidence.needed_s)}")
    steps = [f"Run again {' and '.join(again)}."] if again else []
    if facts.sizes_back is not None:
        steps.append(f"Try it on a replica: every figure is from the {facts.sizes_back.title}.")
    if facts.device_untested:
        steps.append(f"Not tested: {facts.device_untested}.")
    if absent and facts.file is not None:
        steps.append("Your file keeps the lines to leave out: take them out by hand.")
    return " ".join(steps) or "Try it on a replica, with the rollback file at hand."
