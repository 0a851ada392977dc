"""The table of a ranking as HTML: its head, and a row for each candidate.

As a template a row takes ten times as long; a study on several devices has a hundred.
"""

from __future__ import annotations

from html import escape

from django.utils.safestring import SafeString

from advisor.pages.study.boards import BoardRow, BoardSection
from advisor.templatetags.definitions import term
from advisor.templatetags.readable import interval_change, outcome_label, outcome_tone
from advisor.wording.addresses import study_url
from advisor.wording.formatting import ABSENT, megacycles, percent_change, shortened, significant
from benchmarks.counted import counted
from tuning.models import Candidate, Study
from tuning.statistics.ranking import Ranked

# Longer ones are cut where the screen is narrow.
_MAX_NAME = 36
_PER_ORDER = "Mcycles / New-Order"
# Columns of words; the others are of figures.
_WORDS = "name", "outcome"
_NUM = ' class="num"'
_BASELINE = ' <span class="tag">baseline</span>'
_HIDDEN = ' <span aria-hidden="true">{}</span><span class="visually-hidden">measurably {}</span>'
_BETTER, _WORSE = _HIDDEN.format("▲", "better"), _HIDDEN.format("▼", "worse")


def ranking_head(view: BoardSection, study_id: int) -> SafeString:
    """The cells of the head, each with a link that sorts by its column."""
    by = escape(view.choice.words.column)
    against = f"vs. {term('baseline', 'baseline')}, {term('interval', '95 %')}"
    columns = (
        ("rank", "Rank", f"by {by}"),
        ("name", "Candidate", ""),
        ("tpmP", "tpmP", "median"),
        ("change", f"Change in {by}", against),
        ("p95_ms", "p95", "ms"),
        ("p99_ms", "p99", "ms"),
        ("max_ms", "max", "ms"),
        ("server_path", "Server path length", _PER_ORDER),
        ("host_path", "Host path length", _PER_ORDER),
        ("outcome", "Outcome", ""),
        ("runs", "Runs", ""),
        ("failed", "No result", ""),
    )
    page, sorts, cells = study_url(study_id), view.choice.sorts, []
    for name, label, unit in columns:
        query, order = sorts[name]
        address = f"{page}{f'?{escape(query)}' if query else ''}#{view.key}"
        arrow = "↑" if order == "ascending" else "↓"
        mark = f' <span aria-hidden="true">{arrow}</span>' if order != "none" else ""
        cells.append(
            f'<th scope="col"{"" if name in _WORDS else _NUM} aria-sort="{order}">'
            f'<a class="sort" href="{address}">{label}{mark}</a>{_unit(unit)}</th>'
        )
    return SafeString("".join(cells))


def ranking_rows(view: BoardSection, study: Study) -> SafeString:
    """A row for each line of the board, and one for each duplicate of its candidate."""
    is_finished = study.is_finished
    return SafeString("\n".join(_rows(view, one, is_finished) for one in view.rows))


def _rows(view: BoardSection, one: BoardRow, is_finished: bool) -> str:
    line, candidate = one.row.ranked, one.row.candidate
    rank = ABSENT if line.rank is None else line.rank
    kind = "best" if line.rank == 1 else "failed" if line.tpmP is None else ""
    tie = f" tie tie-{one.tie}" if one.tie else ""
    failures = ABSENT if candidate.refusal else line.failures
    row = (
        f'<tr class="{kind}{tie}"><td class="num rank">{rank}</td>'
        f'<th scope="row" class="name">{_name(view, one)}</th>'
        f'<td class="num throughput">{significant(line.tpmP)}</td>'
        f'<td class="num ratio">{_change(line, candidate)}</td>'
        f'<td class="num" data-label="p95, ms">{significant(line.p95_ms)}</td>'
        f'<td class="num" data-label="p99, ms">{significant(line.p99_ms)}</td>'
        f'<td class="num" data-label="max, ms">{significant(line.max_ms)}</td>'
        f'<td class="num" data-label="Server path length, {_PER_ORDER}">'
        f"{megacycles(line.server_path_length)}</td>"
        f'<td class="num" data-label="Host path length, {_PER_ORDER}">'
        f"{megacycles(line.host_path_length)}</td>"
        f'<td class="outcome" data-label="Outcome">{_outcome(line, candidate, is_finished)}</td>'
        f'<td class="num" data-label="Runs">{line.runs}</td>'
        f'<td class="num" data-label="No result">{failures}</td></tr>'
    )
    same = f"Same effective values as {escape(candidate.name)}, so measured once"
    return row + "".join(
        f'<tr class="duplicate"><td class="num rank">{rank}</td>'
        f'<th scope="row" class="name"><a href="#candidate-{duplicate.pk}">'
        f'{escape(duplicate.name)}</a></th><td class="same" colspan="10">{same}</td></tr>'
        for duplicate in one.duplicates
    )


def _name(view: BoardSection, one: BoardRow) -> str:
    candidate = one.row.candidate
    name, pk = escape(candidate.name), candidate.pk
    shown = name
    if len(candidate.name) > _MAX_NAME:
        cut = escape(shortened(candidate.name, _MAX_NAME))
        shown = f'<span class="whole">{name}</span><span class="cut">{cut}</span>'
    return (
        f'<a href="#candidate-{pk}">{shown}</a>{_BASELINE * candidate.is_baseline}'
        f"{''.join(map(_note, _notes(one)))}{_changes(view, one)}"
        f'<details class="row-more" id="more-{view.key}-{pk}">'
        f'<summary>More<span class="visually-hidden"> about {name}</span></summary></details>'
    )


def _notes(one: BoardRow) -> list[str]:
    """What is said below a name, as HTML."""
    line, left, found = one.row.ranked, one.row.left, []
    if tied := one.tied_with:
        found.append(f"tied with {escape(tied)}")
    if one.is_on_front:
        found.append("on the Pareto front")
    if left is not None:
        found.append(f"left the race after block {left.after_block}: {escape(left.reason)}")
    if line.cut_short:
        too_slow = "cut short as too slow: an upper bound, not a result"
        found.append(f"{counted(line.cut_short, 'run')} {too_slow}")
    if one.disturbed:
        found.append(f"{counted(one.disturbed, 'run')} disturbed")
    if one.warming:
        found.append(f"{counted(one.warming, 'run')} still warming up")
    if one.owing:
        found.append(f"{counted(one.owing, 'run')} with growing write debt")
    return found


def _changes(view: BoardSection, one: BoardRow) -> str:
    candidate = one.row.candidate
    if not one.changes:
        if candidate.is_baseline:
            return ""
        return _note(f"no difference from {escape(view.board.baseline.name)}")
    lines = "".join(
        f"<li><code>{escape(name)}</code> {_value(there)} → {_value(here)}</li>"
        for name, there, here in one.changes
    )
    return (
        f'<details class="changes" id="changes-{view.key}-{candidate.pk}">'
        f"<summary>{counted(len(one.changes), 'difference')} from baseline</summary>"
        f'<ul class="plain">{lines}</ul></details>'
    )


def _change(line: Ranked, candidate: Candidate) -> str:
    change = percent_change(line.ratio_to_baseline)
    if candidate.is_baseline:
        return change
    if line.at_most is not None:
        return f"at most {percent_change(line.at_most)}"
    tone = "up" if line.better else "down" if line.worse else ""
    says = _BETTER if line.better else _WORSE if line.worse else ""
    interval = _unit(interval_change(line.interval)) if line.interval else ""
    return f'<span class="{tone}">{change}{says}</span>{interval}'


def _outcome(line: Ranked, candidate: Candidate, is_finished: bool) -> str:
    if candidate.refusal:
        return f'<a class="badge bad" href="#candidate-{candidate.pk}">refused</a>'
    if line.cut_short and not line.runs:
        return '<span class="badge warn">cut short</span>'
    if line.runs or line.failures:
        tone, label = outcome_tone(line.outcome), escape(outcome_label(line.outcome))
        return f'<span class="badge {tone}">{label}</span>'
    return f'<span class="muted nowrap">not run{"" if is_finished else " yet"}</span>'


def _note(text: str) -> str:
    return f'<span class="note">{text}</span>'


def _unit(text: str) -> str:
    return text and f'<span class="unit">{text}</span>'


def _value(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else '<span class="muted">not set</span>'
