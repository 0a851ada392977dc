"""The recommended my.cnf: what to set, what was measured, and what was not."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tuning.catalogue.knob import Durability, Dynamic, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.configs.gate import durability_of
from tuning.configs.knobs import render_line
from tuning.configs.notes import Note
from tuning.configs.readback import effective_values
from tuning.configs.target import ServerTraits
from tuning.configs.values import BadValue, normalise
from tuning.errors import TuningError
from tuning.ranking import Interval

WIDTH = 96
_DYNAMIC = {
    Dynamic.RESTART: "takes a restart",
    Dynamic.GLOBAL: "can be set on the running server (SET GLOBAL)",
    Dynamic.SESSION: "can be set on the running server (SET GLOBAL), for new connections",
    Dynamic.PARTLY: "some changes take a restart",
    Dynamic.NO_EFFECT: "has no effect on this server",
}
_SAFETY = {
    Durability.D0: "D0: nothing in this file loses committed data.",
    Durability.D1: "D1: WARNING - with this file the last commits can be lost in a crash.",
    Durability.D2: "D2: WARNING - with this file a crash can corrupt the database.",
}


@dataclass(frozen=True)
class Effect:
    """What was measured with one workload; None is "no figure".

    `ratio` is the median of tpmP / the baseline's tpmP over `blocks` blocks, `workload` text for
    people.
    """

    workload: str
    ratio: float | None
    runs: int
    failures: int
    blocks: int
    tpmP: float | None = None
    p95_ms: float | None = None
    baseline_tpmP: float | None = None
    baseline_p95_ms: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class ExportFacts:
    """All that the file says.

    `candidate_variables` and `baseline_variables` are SHOW GLOBAL VARIABLES (lower-case names) of
    an OK run of each, empty where there is none. `not_tested` adds to what is always said.
    """

    study: str
    date: str
    device: str
    server: ServerTraits
    candidate: str
    baseline: str
    knobs: Mapping[str, str]
    effects: Sequence[Effect]
    source: str = ""
    verdict: str = ""
    data_bytes: int | None = None
    notes: Sequence[Note] = ()
    candidate_variables: Mapping[str, str] = field(default_factory=dict)
    baseline_variables: Mapping[str, str] = field(default_factory=dict)
    not_tested: Sequence[str] = ()


def render_my_cnf(facts: ExportFacts, *, acknowledged: Durability = Durability.D0) -> str:
    """The text of the file, which the server takes as it is.

    A knob that the server runs with another value than was asked for is written with the value
    that was measured; what the baseline has by itself is left out. Raises TuningError when the
    knobs are below the durability class that was `acknowledged`.
    """
    given = durability_of(facts.knobs)
    if given > acknowledged:
        raise TuningError(
            "durability_not_acknowledged",
            f"{facts.candidate} is durability class {given}; exporting it must be acknowledged",
        )
    lines = [*_header(facts, given), "", "[mysqld]"]
    written, unchanged = _split(facts)
    for name, value in written.items():
        lines += ["", *_comment(_about(name, value, facts)), render_line(name, value)]
    if not written:
        lines += _comment("Nothing is set, on purpose: keep what the server does by itself.")
    if unchanged:
        said = f"Left out, because {facts.baseline} has the same value: {', '.join(unchanged)}."
        lines += ["", *_comment(said)]
    if left_behind := list(_left_behind(facts)):
        lines += ["", "# In the config as it was given, but not here:", *left_behind]
    return "\n".join(lines) + "\n"


def _split(facts: ExportFacts) -> tuple[dict[str, str], list[str]]:
    """The values to write, as measured, and the names of those that change nothing."""
    measured = effective_values(facts.knobs, facts.candidate_variables, facts.server)
    default = effective_values(facts.knobs, facts.baseline_variables, facts.server)
    written: dict[str, str] = {}
    unchanged: list[str] = []
    for name, asked in facts.knobs.items():
        value = _usable(name, measured.get(name), facts.server) or asked
        if name in default and default[name].lower() == value.lower():
            unchanged.append(name)
        else:
            written[name] = value
    return written, unchanged


def _usable(name: str, effective: str | None, server: ServerTraits) -> str | None:
    """The effective value where it can be written in an option file."""
    knob = load_catalogue().get(name)
    if knob is None or not effective:
        return None
    try:
        return normalise(knob, effective, server)
    except BadValue:
        return None


def _header(facts: ExportFacts, durability: Durability) -> Iterator[str]:
    yield from _comment("my.cnf recommended by the MySQL OLTP tuning advisor")
    yield "#"
    yield from _field("Study", facts.study)
    yield from _field("Date", facts.date)
    yield from _field("Device", facts.device)
    yield from _field("Server", str(facts.server))
    yield from _field("Candidate", facts.candidate)
    if facts.source:
        yield from _field("Origin", facts.source)
    for effect in facts.effects:
        yield from _field("Workload", effect.workload)
        yield from _field("Measured", _measured(effect, facts))
    if facts.verdict:
        yield from _field("Verdict", facts.verdict)
    yield from _field("Durability", _SAFETY[durability])
    yield "#"
    yield from _comment(
        "tpmP is the number of New-Order transactions per minute that the driver completed. It "
        "is not tpmC, a word that is reserved for audited TPC results."
    )
    yield "#"
    yield from _comment("Not tested:")
    for item in _not_tested(facts):
        yield from _comment(f"- {item}", indent="  ")


def _measured(effect: Effect, facts: ExportFacts) -> str:
    figures = f"{effect.runs} OK run{'s' if effect.runs != 1 else ''}, {effect.failures} failed"
    now = _figures(effect.tpmP, effect.p95_ms)
    if facts.candidate == facts.baseline:
        return f"{now}: median of {figures}; the others were compared with this baseline"
    ratio = "no ratio to" if effect.ratio is None else f"{effect.ratio:.3f} times the tpmP of"
    if effect.interval is None:
        spread = "no interval was computed"
    else:
        low, high = effect.interval.low, effect.interval.high
        spread = f"{effect.interval.confidence:.0%} interval {low:.3f} to {high:.3f}"
    before = _figures(effect.baseline_tpmP, effect.baseline_p95_ms)
    return (
        f"{ratio} {facts.baseline} (median over {effect.blocks} block"
        f"{'s' if effect.blocks != 1 else ''}; {spread}); "
        f"{now} against {before}; {figures}"
    )


def _figures(tpmP: float | None, p95_ms: float | None) -> str:
    throughput = "no tpmP" if tpmP is None else f"{tpmP:.0f} tpmP"
    return throughput if p95_ms is None else f"{throughput}, p95 {p95_ms:.1f} ms"


def _not_tested(facts: ExportFacts) -> Iterator[str]:
    yield "any other device, server version, host or workload than the ones above"
    size = f" ({facts.data_bytes / 1024**3:.1f} GiB)" if facts.data_bytes else ""
    yield f"more data than this{size}, other numbers of connections, think times, longer runs"
    if facts.knobs:
        yield "each line by itself: the lines were measured together"
    yield "restart and crash recovery times, replication, backups, schema changes"
    yield from facts.not_tested


def _about(name: str, value: str, facts: ExportFacts) -> str:
    knob = load_catalogue().get(name)
    remarks = [] if knob is None else [knob.does, *_class_and_change(knob, facts)]
    asked = facts.knobs[name]
    if value.lower() != asked.lower():
        remarks.append(f"Asked for {asked}; the server made it {value}, which was measured.")
    remarks += [_sentence(note.detail) for note in facts.notes if note.name == name]
    if name == "innodb_buffer_pool_size":
        remarks.append("Sized to the data that was tested: size it to your own data and memory.")
    return " ".join(remarks)


def _left_behind(facts: ExportFacts) -> Iterator[str]:
    """What the config had where it comes from and this file has not."""
    for note in facts.notes:
        if note.name not in facts.knobs:
            yield from _comment(f"- {note.name} ({note.action}): {note.detail}", indent="  ")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _class_and_change(knob: Knob, facts: ExportFacts) -> Iterator[str]:
    change = knob.dynamic(facts.server)
    given = durability_of({knob.name: facts.knobs[knob.name]})
    yield f"[{given}{f'; {_DYNAMIC[change]}' if change else ''}]"


def _field(name: str, text: str) -> list[str]:
    return _comment(f"{name + ':':<12}{text}", hanging=12)


def _comment(text: str, *, indent: str = "", hanging: int = 2) -> list[str]:
    """Comment lines; no text, whatever is in it, can end the comment and become an option."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return textwrap.wrap(
        plain,
        WIDTH,
        initial_indent=f"# {indent}",
        subsequent_indent=f"# {indent}{' ' * (hanging if hanging > 2 or indent else 0)}",
        break_long_words=False,
        break_on_hyphens=False,
    )
