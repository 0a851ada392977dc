"""A gate as its page, the API and its files for pipelines (JUnit XML and Markdown) show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from django.db.models import QuerySet

from benchmarks.counted import counted
from tuning.configs.readback import SettingDifference
from tuning.models import Candidate, GateVerdict, Study, StudyState
from tuning.results.document import Gate, GateLimit
from tuning.statistics.gate import percent_text
from tuning.stored_documents import document_of

#: States of a gate without a verdict: still measured, or ended without one.
RUNNING = "running"
ERROR = "error"
# Characters that XML 1.0 cannot have, not even escaped.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class GateFacts:
    """The facts of a gate that its files show.

    verdict: "pass", "fail", "undecided", RUNNING or ERROR. candidate, baseline: config and server.
    place: host, device and workload. binary_log: "default", or for both sides "on" or "off".
    result: its part of the result document; None for a gate that ended without a verdict. url:
    that of its page.
    """

    id: int
    name: str
    verdict: str
    reason: str
    candidate: str
    baseline: str
    place: str
    created_at: str
    result: Gate | None = None
    url: str = ""
    binary_log: str = "default"


def gates() -> QuerySet[Study]:
    """Return all gates, with what their facts need."""
    return Study.objects.filter(gate__isnull=False).select_related(
        "server", "host", "gate_verdict"
    )


def gate_facts(study: Study, *, url: str = "") -> GateFacts:
    """Return what is known of a gate now; `url` is that of its page."""
    document = document_of(study)
    rows = study.candidates.select_related("config", "server")
    sides = {one.is_baseline: _side(one) for one in rows}
    verdict = verdict_of(study)
    result = document.gate if verdict != ERROR else None
    return GateFacts(
        id=study.pk,
        name=study.name,
        verdict=verdict,
        reason=result.reason if result else f"{study.reason_code}: {study.reason}",
        candidate=sides[False],
        baseline=sides[True],
        place=f"{study.host}, {document.devices[0].name}, {document.workloads[0].name}",
        binary_log=study.binary_log,
        created_at=study.created_at.isoformat(timespec="seconds"),
        result=result,
        url=url,
    )


def verdict_of(study: Study) -> str:
    """Return the verdict; "running" before it has one, "error" where it ended without."""
    stored: GateVerdict | None = getattr(study, "gate_verdict", None)
    if stored is not None:
        return stored.verdict
    return ERROR if study.state in (StudyState.FAILED, StudyState.CANCELLED) else RUNNING


def _side(one: Candidate) -> str:
    return f"{one.name} ({one.config.hash[:12]}) on {one.measured_on}"


def gate_json(facts: GateFacts) -> dict[str, Any]:
    """Return all that is known, for programs; `result` is empty for a gate without a verdict."""
    known = {name: value for name, value in vars(facts).items() if name not in ("url", "place")}
    result = facts.result.model_dump(mode="json") if facts.result else {}
    return {**known, "measured": facts.place, "result": result}


def junit_xml(facts: GateFacts) -> str:
    """Return a test suite with a case for the runs and one for each limit.

    What is undecided is an error and no failure: a pipeline that reads nothing but this must not
    take it for a pass.
    """
    limits = facts.result.limits if facts.result else ()
    seconds = facts.result.seconds if facts.result else 0.0
    is_faulty = facts.verdict == "fail" and all(one.verdict != "fail" for one in limits)
    measured = "failure" if is_faulty else "error" if facts.verdict == ERROR else ""
    cases = [("runs are measured", measured, facts.reason)]
    for one in limits:
        kind = {"pass": "", "fail": "failure"}.get(one.verdict, "error")
        text = f"{one.limit}: {percent_text(one.change_percent)} ({_interval(one)})"
        cases.append((one.limit, kind, text))
    kinds = [kind for _, kind, _ in cases]
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_xml(f"gate {facts.name}"),
        timestamp=facts.created_at,
        failures=f"{kinds.count('failure')}",
        errors=f"{kinds.count('error')}",
        tests=f"{len(cases)}",
        skipped="0",
        time=f"{seconds:.1f}",
    )
    for name, kind, text in cases:
        names = {"classname": _xml(f"gate.{facts.name}"), "name": _xml(name)}
        case = ET.SubElement(suite, "testcase", names, time=f"{seconds / len(cases):.1f}")
        if kind:
            verdict = "fail" if kind == "failure" else facts.verdict
            ET.SubElement(case, kind, type=verdict, message=_xml(text)).text = _xml(facts.reason)
    # Also of a gate that passes, which has no message.
    differences = facts.result.differences if facts.result else ()
    lines = [facts.reason, *map(_difference_text, differences)]
    ET.SubElement(suite, "system-out").text = _xml("\n".join(lines))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def markdown_summary(facts: GateFacts) -> str:
    """Return the Markdown for the summary of a pipeline's job."""
    found = facts.result
    where = f" ([gate {facts.id}]({facts.url}))" if facts.url else f" (gate {facts.id})"
    lines = [
        f"### Gate {_inline(facts.name)}: {facts.verdict}{where}",
        "",
        _inline(facts.reason),
        "",
        f"- candidate: {_inline(facts.candidate)}",
        f"- baseline: {_inline(facts.baseline)}",
        f"- measured: {_inline(facts.place)}",
    ]
    if found:
        lines.append(f"- {counted(found.pairs, 'pair')} in {found.seconds / 60:.1f} minutes")
    if facts.binary_log != "default":
        lines.append(f"- binary log of both: {facts.binary_log}")
    if found and found.limits:
        lines += ["", "| limit | verdict | change | interval | pairs | would decide |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        lines += [_row(one) for one in found.limits]
    if found and found.durability:
        ours, theirs = found.durability.candidate, found.durability.baseline
        lines += ["", f"Durability: {ours} of the candidate, {theirs} of the baseline."]
    if found and found.differences:
        lines += ["", "| effective setting | candidate | baseline | chosen |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [_difference_row(one) for one in found.differences]
    return "\n".join(lines) + "\n"


#: The files by format, with their media types.
GATE_FILES: dict[str, tuple[str, Callable[[GateFacts], str]]] = {
    "junit": ("application/xml", junit_xml),
    "markdown": ("text/markdown", markdown_summary),
}


def _row(one: GateLimit) -> str:
    more = one.pairs_to_decide
    takes = "" if more is None else f"about {counted(more, 'pair')}"
    change = f"{percent_text(one.change_percent)} | {_interval(one)}"
    return f"| {one.limit} | {one.verdict} | {change} | {one.pairs} | {takes} |"


def _difference_row(one: SettingDifference) -> str:
    cells = [one.name, one.candidate or "none", one.baseline or "none", _remark(one)]
    return f"| {' | '.join(map(_inline, cells))} |"


def _difference_text(one: SettingDifference) -> str:
    ours, theirs = one.candidate or "none", one.baseline or "none"
    return f"{one.name}: {ours}, baseline {theirs} ({_remark(one)})"


def _remark(one: SettingDifference) -> str:
    """Return whether a difference is about durability, and who chose it."""
    whose = "by default" if one.is_default else "by a config"
    return f"durability, {whose}" if one.is_durability else whose


def _interval(one: GateLimit) -> str:
    return f"{percent_text(one.low_percent)} to {percent_text(one.high_percent)}"


def _inline(text: str) -> str:
    """Return text that stays text in Markdown, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
