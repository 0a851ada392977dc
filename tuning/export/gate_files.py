"""A gate's verdict as files for pipelines: JUnit XML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.counted import counted
from tuning.configs.readback import SettingDifference
from tuning.results.document import Gate, GateLimit
from tuning.results.gate_sentences import percent_text

_NOTHING = Gate(
    verdict="",
    reason="",
    pairs=0,
    max_pairs=0,
    confidence=0,
    seconds=0,
    limits=(),
    durability=None,
    differences=(),
)
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
    result: its part of the result document; None for a gate that ended without a verdict.
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

    @property
    def found(self) -> Gate:
        """The result, of no pairs for a gate that ended without a verdict."""
        return self.result or _NOTHING


def gate_json(facts: GateFacts) -> dict[str, Any]:
    """Return all that is known, for programs; `result` is empty for a gate without a verdict."""
    known = {name: value for name, value in vars(facts).items() if name not in ("url", "place")}
    result = facts.result.model_dump(mode="json") if facts.result else {}
    return {**known, "measured": facts.place, "result": result}


def junit_xml(facts: GateFacts) -> str:
    """A test suite with a case for the runs and one for each limit.

    What is undecided is an error and no failure: a pipeline that reads nothing but this must not
    take it for a pass.
    """
    from xml.etree import ElementTree as ET  # late import: each worker imports this module

    found = facts.found
    suite = ET.Element("testsuite", name=_xml(f"gate {facts.name}"), timestamp=facts.created_at)
    cases: list[tuple[str, str, str]] = []
    is_faulty = facts.verdict == "fail" and all(one.verdict != "fail" for one in found.limits)
    measured = "failure" if is_faulty else "error" if facts.verdict == ERROR else ""
    cases.append(("runs are measured", measured, facts.reason if measured else ""))
    for one in found.limits:
        kind = {"pass": "", "fail": "failure"}.get(one.verdict, "error")
        text = f"{one.limit}: {percent_text(one.change_percent)} ({_interval(one)})"
        cases.append((one.limit, kind, text if kind else ""))
    for name, kind, text in cases:
        time = f"{found.seconds / len(cases):.1f}"
        case = ET.SubElement(
            suite, "testcase", classname=_xml(f"gate.{facts.name}"), name=_xml(name), time=time
        )
        if kind:
            verdict = "fail" if kind == "failure" else facts.verdict
            ET.SubElement(case, kind, type=verdict, message=_xml(text)).text = _xml(facts.reason)
    for attribute, kind in (("failures", "failure"), ("errors", "error")):
        suite.set(attribute, str(sum(one == kind for _, one, _ in cases)))
    # Also of a gate that passes, which has no message.
    lines = [facts.reason, *map(_difference_text, found.differences)]
    ET.SubElement(suite, "system-out").text = _xml("\n".join(lines))
    suite.set("tests", str(len(cases)))
    suite.set("skipped", "0")
    suite.set("time", f"{found.seconds:.1f}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def markdown_summary(facts: GateFacts) -> str:
    """Return the Markdown for the summary of a pipeline's job."""
    found = facts.found
    where = f" ([gate {facts.id}]({facts.url}))" if facts.url else f" (gate {facts.id})"
    lines = [
        f"### Gate {_inline(facts.name)}: {facts.verdict}{where}",
        "",
        _inline(facts.reason),
        "",
        f"- candidate: {_inline(facts.candidate)}",
        f"- baseline: {_inline(facts.baseline)}",
        f"- measured: {_inline(facts.place)}",
        f"- {counted(found.pairs, 'pair')} in {found.seconds / 60:.1f} minutes",
    ]
    if facts.binary_log != "default":
        lines.append(f"- binary log of both: {facts.binary_log}")
    if found.limits:
        lines += ["", "| limit | verdict | change | interval | pairs | would decide |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        lines += [_row(one) for one in found.limits]
    if found.durability:
        ours, theirs = found.durability.candidate, found.durability.baseline
        lines += ["", f"Durability: {ours} of the candidate, {theirs} of the baseline."]
    if found.differences:
        lines += ["", "| effective setting | candidate | baseline | chosen |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [_difference(one) for one in found.differences]
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


def _difference(one: SettingDifference) -> str:
    values = [_inline(value or "none") for value in (one.candidate, one.baseline)]
    return f"| {_inline(one.name)} | {' | '.join(values)} | {difference_remark(one)} |"


def difference_remark(one: SettingDifference) -> str:
    """Return the remark on a difference: whether it is about durability, and who chose it."""
    whose = "by default" if one.is_default else "by a config"
    return f"durability, {whose}" if one.is_durability else whose


def _difference_text(one: SettingDifference) -> str:
    ours, theirs = one.candidate or "none", one.baseline or "none"
    return f"{one.name}: {ours}, baseline {theirs} ({difference_remark(one)})"


def _interval(one: GateLimit) -> str:
    return f"{percent_text(one.low_percent)} to {percent_text(one.high_percent)}"


def _inline(text: str) -> str:
    """Text that stays text in Markdown, on one line."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _xml(text: str) -> str:
    return _NO_XML.sub("�", text)
