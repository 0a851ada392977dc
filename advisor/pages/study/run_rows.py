"""The rows of the table of all runs.

A page has hundreds of them. As a template they take ten times as long, a third of the whole page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.utils.html import escape
from django.utils.safestring import SafeString

from advisor.templatetags.readable import outcome_label, outcome_tone, signed
from advisor.wording.addresses import run_url
from advisor.wording.formatting import megacycles, significant
from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.run_list import RunLine
from tuning.results.slot_rows import RunRow, pair_numbers

_VOID = ' class="failed"'
_REPLICATE = ' <span class="tag">replicate</span>'
_NUMBERED: dict[str, str] = {
    SlotPurpose.REDUCED: "round ",
    SlotPurpose.APART: "apart ",
}


def run_rows(lines: Iterable[RunLine], *, shows_device: bool) -> SafeString:
    """In the order of the lines, with the columns of `templates/studies/_runs.html`."""
    lines = list(lines)
    # Texts are escaped here, once for all rows; all else in a row is a number or our own word.
    candidates = {line.slot.candidate_id: line.slot.candidate for line in lines}
    names = {pk: escape(one.name) for pk, one in candidates.items()}
    devices = {}
    if shows_device:
        there = {line.slot.device_id: line.slot.device for line in lines}
        devices = {pk: f"<td>{escape(one)}</td>" for pk, one in there.items()}
    badges = {
        state: f'<span class="badge {outcome_tone(state)}">{escape(outcome_label(state))}</span>'
        for state in {line.run.state for line in lines}
    }
    blocks = _blocks(lines)
    return SafeString(
        "\n".join(
            _row(line, block, names, devices, badges)
            for line, block in zip(lines, blocks, strict=True)
        )
    )


def _blocks(lines: Sequence[RunLine]) -> Iterator[str]:
    """Blocks and rounds as the study counts them; pairs, which are blocks too, from 1."""
    pairs = pair_numbers(line.slot for line in lines)
    for line in lines:
        slot = line.slot
        if slot.purpose == SlotPurpose.CONFIRMATION:
            yield f"pair {pairs[slot.device_id, slot.workload_id, slot.block]}"
        else:
            yield f"{_NUMBERED.get(slot.purpose, '')}{slot.block}"


def _row(
    line: RunLine,
    block: str,
    names: Mapping[int, str],
    devices: Mapping[int, str],
    badges: Mapping[str, str],
) -> str:
    slot, run = line.slot, line.run
    is_void = line.again is not None or run.state == RunState.DISTURBED
    bound = run.tpmP_at_most
    tpmP = significant(run.tpmP) if bound is None else f"at most {significant(bound)}"
    return (
        f"<tr{_VOID * is_void}>"
        f'<td class="num">{slot.order}</td>'
        f'<td class="num">{block}</td>'
        f'<th scope="row">{names[slot.candidate_id]}{_REPLICATE * bool(slot.replicate)}</th>'
        f"{devices.get(slot.device_id, '')}"
        f'<td class="num">{slot.workload.connections}</td>'
        f"<td>{badges[run.state]}{_warming(run)}{_again(line.again)}</td>"
        f'<td class="num">{tpmP}</td>'
        f'<td class="num">{significant(run.p95_ms)}</td>'
        f'<td class="num">{megacycles(run.server_path_length)}</td>'
        f'<td><a href="{run_url(run.pk)}">Run {run.pk}</a></td></tr>'
    )


def _warming(run: RunRow) -> str:
    if not run.still_warming or run.state != RunState.OK:
        return ""
    trend = f" ({signed(run.trend_pct)} %)" if run.trend_pct is not None else ""
    return f' <span class="badge warn">still warming up{trend}</span>'


def _again(run: RunRow | None) -> str:
    if run is None:
        return ""
    address = run_url(run.pk)
    return f'<span class="note">measured again as <a href="{address}">run {run.pk}</a></span>'
