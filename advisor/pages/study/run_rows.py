"""The rows of the table of all runs.

A page has hundreds of them. As a template they take five times as long, a third of the whole page.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from advisor.templatetags.readable import outcome_label, outcome_tone, signed
from advisor.wording.addresses import run_url
from advisor.wording.formatting import megacycles, significant
from benchmarks.models import Run, RunState
from tuning.models import SlotPurpose
from tuning.results.history import RunLine

_NOTHING = SafeString("")
_REPLICATE = SafeString(' <span class="tag">replicate</span>')
_VOID = SafeString(' class="failed"')
_NUMBERED = {
    SlotPurpose.CONFIRMATION: "pair ",
    SlotPurpose.REDUCED: "round ",
    SlotPurpose.APART: "apart ",
}


def run_rows(lines: Iterable[RunLine], *, shows_device: bool) -> SafeString:
    """In the order of the lines, with the columns of `templates/studies/_runs.html`."""
    return format_html_join("\n", "{}", ((_row(line, shows_device),) for line in lines))


def _row(line: RunLine, shows_device: bool) -> SafeString:
    slot, run = line.slot, line.run
    at_most = "at most " if run.tpmP_at_most is not None else ""
    return format_html(
        '<tr{}><td class="num">{}</td><td class="num">{}{}</td><th scope="row">{}{}</th>{}'
        '<td class="num">{}</td><td><span class="badge {}">{}</span>{}{}</td>'
        '<td class="num">{}{}</td><td class="num">{}</td><td class="num">{}</td>'
        '<td><a href="{}">Run {}</a></td></tr>',
        _VOID if line.again or run.state == RunState.DISTURBED else _NOTHING,
        slot.order,
        _NUMBERED.get(SlotPurpose(slot.purpose), ""),
        slot.block,
        slot.candidate.name,
        _REPLICATE if slot.replicate else _NOTHING,
        format_html("<td>{}</td>", slot.device) if shows_device else _NOTHING,
        slot.workload.connections,
        outcome_tone(run.state),
        outcome_label(run.state),
        _warming(run),
        _again(line.again),
        at_most,
        significant(run.tpmP_at_most if at_most else run.tpmP),
        significant(run.p95_ms),
        megacycles(run.server_path_length),
        run_url(run.pk),
        run.pk,
    )


def _warming(run: Run) -> SafeString:
    if not run.still_warming or run.state != RunState.OK:
        return _NOTHING
    trend = f" ({signed(run.trend_pct)} %)" if run.trend_pct is not None else ""
    return format_html(' <span class="badge warn">still warming up{}</span>', trend)


def _again(run: Run | None) -> SafeString:
    if run is None:
        return _NOTHING
    return format_html(
        '<span class="note">measured again as <a href="{}">run {}</a></span>',
        run_url(run.pk),
        run.pk,
    )
