"""The texts of the files about the measurement and about each line."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.counted import counted, percent
from benchmarks.storage.human import human_bytes
from tuning.catalogue.facts import Dynamic
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.readback import effective_values
from tuning.configs.effective.variables import POOL
from tuning.configs.values import readable_value, same
from tuning.export.facts import Effect, ExportFacts, LinesEvidence
from tuning.export.lines import Line, changed_names
from tuning.export.safety import cost_of
from tuning.scale_model.conversion import is_scaled, on_real_server
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import size_text
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.ranking import Interval
from tuning.statistics.removal import RemovalState

_CHANGE = {
    Dynamic.RESTART: "requires a restart",
    Dynamic.GLOBAL: "dynamic: can be set on the running server (SET GLOBAL)",
    Dynamic.SESSION: "dynamic: can be set on the running server (SET GLOBAL), for new connections",
    Dynamic.PARTLY: "some changes require a restart",
    Dynamic.NO_EFFECT: "has no effect on this server",
}
TPMP = (
    "tpmP is the number of New-Order transactions per minute that the driver completed. It is not "
    "tpmC, a term that is reserved for audited TPC results."
)


def measured(effect: Effect, facts: ExportFacts) -> str:
    """The figures of one workload, for the header."""
    figures = counted(effect.runs, "OK run")
    figures += f", {effect.failures} without a result" if effect.failures else ""
    now = _figures(effect.tpmP, effect.p95_ms)
    if facts.keeps_baseline and not effect.runs + effect.failures:  # a search without a race
        return "only in short runs of the search, beside the configs that it tried"
    if facts.keeps_baseline:
        return f"{now}: median of {figures}; the others were compared with this baseline"
    ratio = "no ratio to" if effect.ratio is None else f"{effect.ratio:.3f} times the tpmP of"
    before = _figures(effect.baseline_tpmP, effect.baseline_p95_ms)
    decided = ""
    if (one := effect.objective) is not None:
        name = FULL_NAMES[one.metric]
        decided = f"{one.ratio:.3f} times the {name} ({_times(one.interval)}), which decided; "
    return (
        f"{decided}{ratio} {facts.baseline} ({_seen_in(effect)}; "
        f"{_times(effect.interval)}); {now} against {before}; {figures}"
    )


def _times(interval: Interval | None) -> str:
    if interval is None:
        return "no interval was computed"
    return f"{percent(interval.confidence)} interval {interval.low:.3f} to {interval.high:.3f}"


def _seen_in(effect: Effect) -> str:
    if effect.fresh_pairs:
        return f"in {effect.fresh_pairs} fresh pairs"
    return f"over {counted(effect.blocks, 'block')}"


def not_tested(facts: ExportFacts) -> Iterator[str]:
    """What the study did not test."""
    yield "devices, server versions, hosts and workloads other than those above"
    if facts.model is not None:
        yield f"the real server: every figure is from the {facts.model.title} (docs/scale.md)"
    size = f" ({human_bytes(facts.data_bytes)})" if facts.data_bytes else ""
    yield f"more data than this{size}, other connection counts, think times, longer runs"
    if len(changed_names(facts)) > 1 and not any(one.ratio for one in facts.apart):
        yield "each line on its own: the lines were measured together"
    recovery = "" if facts.recovery_tested else " and crash recovery"
    yield f"restart{recovery} times, replication, backups, schema changes"
    yield from facts.not_tested


def about(line: Line, facts: ExportFacts) -> str:
    """The complete comment of a line."""
    remarks = [] if line.knob is None else [line.knob.does]
    remarks += [traits(line), *effect_of(line, facts)]
    if line.value.lower() != line.requested.lower():
        asked, used = (readable_value(line.knob, one) for one in (line.requested, line.value))
        remarks.append(f"Requested: {asked}; the server used {used}, which was measured.")
    remarks += [sentence(note.detail) for note in facts.notes if note.name == line.name]
    if line.in_model and facts.model is not None:
        remarks.append(sized_back(line, facts.model))
    elif line.name not in facts.knobs:
        remarks.append(
            "Not requested: it keeps the measured value, because the default is less safe."
        )
    if line.name == POOL and (facts.model is None or facts.as_measured):
        remarks.append("Sized for the tested data: size it for your own data and memory.")
    return " ".join(remarks)


def about_in_short(line: Line, facts: ExportFacts) -> str:
    """The comment of a line among others that is shown without what the knob does."""
    remarks = [traits(line), *effect_of(line, facts)]
    if line.in_model and facts.model is not None:
        remarks.append(sized_back(line, facts.model))
    return " ".join(remarks)


def sized_back(line: Line, model: ScaleModel) -> str:
    """ "Measured as 168M in the scale model 1:200, which is 33G here (70 % of the memory)."."""
    here, there = (readable_value(line.knob, value) for value in (line.value, line.in_model))
    share = ""
    if line.name == POOL:
        of = percent(int(line.value) / model.memory_bytes)
        share = f" ({of} of {size_text(model.memory_bytes)})"
    asked = (
        "" if line.default is None or not same(line.default, line.in_model) else ", its default,"
    )
    return f"Measured as {there}{asked} in the {model.title}, which is {here} here{share}."


def baseline_in_model(facts: ExportFacts) -> str:
    """What the baseline of a scale model is on the real server; "" where that is unknown.

    A server with its defaults there has a far smaller pool than what the figures compare with.
    """
    read = effective_values([POOL], facts.baseline_variables, facts.server)
    pool = read.get(POOL) or facts.baseline_knobs.get(POOL)
    if facts.model is None or pool is None:
        return ""
    there = on_real_server(POOL, pool, facts.model, facts.server, facts.baseline_knobs)
    knob = load_catalogue().knobs[POOL]
    return (
        f"{facts.baseline}; its buffer pool of {readable_value(knob, pool)} in the model stands "
        f"for {readable_value(knob, there)} on the real server"
    )


def traits(line: Line) -> str:
    """Durability class, how it changes, its scope and costs: "[D0; requires a restart]"."""
    parts = [f"{line.durability}"]
    if line.dynamic is not None:
        parts.append(_CHANGE[line.dynamic])
    parts.append("scope: global and session" if line.scope == "session" else "scope: global")
    warning = f" WARNING: {cost_of(line)}." if line.durability > Durability.D0 else ""
    costs = "".join(f" Costs {one.kind}: {one.loses}." for one in line.costs)
    return f"[{'; '.join(parts)}]{warning}{costs}"


def effect_of(line: Line, facts: ExportFacts) -> Iterator[str]:
    """The measured effect of a line: on its own only if nothing else differed."""
    if facts.keeps_baseline or not facts.effects:
        return
    own = facts.own(line.name)
    if own is not None and own.state != RemovalState.UNTESTED:
        yield own_effect(line.name, own, facts)
        return
    if not line.changed:
        yield f"{facts.baseline} had the same value, so its effect was not measured."
        return
    others = len(changed_names(facts)) - 1
    alone = "Measured on its own:"
    together = f"Measured together with {counted(others, 'other setting')}:"
    several = len(facts.effects) > 1
    found = [
        gain(effect, facts.baseline) + (f" with {effect.workload}" if several else "")
        for effect in facts.effects
    ]
    yield f"{together if others else alone} {'; '.join(found)}."
    if own is not None:
        yield sentence(own.text)


def own_effect(name: str, own: LinesEvidence, facts: ExportFacts) -> str:
    """What taking the winner apart found of a line, as a sentence."""
    if own.ratio is None:
        return sentence(own.text)
    others = [one for one in own.lines if one != name]
    beside = f"together with {', '.join(others)}" if others else "on its own"
    return f"Measured {beside}, by removing it: {own.text}."


def left_out_text(one: LinesEvidence, facts: ExportFacts) -> str:
    """As "innodb_flush_neighbors = 0: +0.3 % tpmP (...); no measurable effect"."""
    lines = ", ".join(_left_out_line(name, value, facts) for name, value in one.lines.items())
    return f"{lines}: {one.text}"


def _left_out_line(name: str, value: str, facts: ExportFacts) -> str:
    """With both values where the one in a scale model stands for another."""
    knob = load_catalogue().get(name)
    if facts.model is None or facts.as_measured or not is_scaled(name):
        return f"{name} = {readable_value(knob, value)}"
    here = on_real_server(name, value, facts.model, facts.server, facts.knobs)
    there = f"{readable_value(knob, value)} in the {facts.model.title}"
    return f"{name} = {readable_value(knob, here)} ({there})"


def gain(effect: Effect, baseline: str) -> str:
    """ "+42.4 % tpmP against server-default (95 % interval +31.0 % to +52.0 %)"."""
    if effect.ratio is None:
        return f"no figure against {baseline}"
    throughput = f"{_percent(effect.ratio)} tpmP against {baseline} ({_spread(effect.interval)})"
    if (one := effect.objective) is None:
        return throughput
    change = f"{_percent(one.ratio)} {FULL_NAMES[one.metric]} ({_spread(one.interval)})"
    return f"{change} and {throughput}"


def _spread(interval: Interval | None) -> str:
    if interval is None:
        return "no interval was computed"
    low, high = _percent(interval.low), _percent(interval.high)
    return f"{interval.confidence * 100:.0f} % interval {low} to {high}"


def sentence(text: str) -> str:
    """The text, such as the detail of a note, with capital and full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def _figures(tpmP: float | None, p95_ms: float | None) -> str:
    throughput = "no tpmP" if tpmP is None else f"{tpmP:.0f} tpmP"
    return throughput if p95_ms is None else f"{throughput}, p95 {p95_ms:.1f} ms"
