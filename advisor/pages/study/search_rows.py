"""The rows of the table of the configs that a search tried.

There may be hundreds, as of runs: as a template they take several times as long (`run_rows`).
"""

from __future__ import annotations

from django.utils.html import escape
from django.utils.safestring import SafeString

from advisor.pages.study.search import TriedLine
from advisor.templatetags.readable import outcome_tone
from advisor.wording.addresses import run_url
from advisor.wording.formatting import percent_change

_RACED = ' <span class="tag">raced</span>'
_FRONT = ' <span class="tag">front</span>'


def search_row(line: TriedLine) -> SafeString:
    """With the columns of `templates/studies/_search_body.html`."""
    one, candidate = line.tried, line.tried.candidate
    run = one.last.run
    return SafeString(
        '<tr><th scope="row" class="nowrap">'
        f'<a href="#candidate-{candidate.pk}">{escape(candidate.name)}</a>'
        f"{_RACED * one.is_finalist}{_FRONT * line.is_on_front}</th>"
        f'<td class="num" data-label="tpmP">{percent_change(line.tpmP)}</td>'
        f'<td class="num" data-label="p95">{percent_change(line.p95)}</td>'
        f'<td class="num" data-label="Path length">{percent_change(line.path_length)}</td>'
        f'<td class="num state" data-label="Runs">{len(one.looks)}</td>'
        f'<td class="state"><a href="{run_url(run.pk)}">'
        f'<span class="badge {outcome_tone(run.state)}">{escape(run.label)}</span></a></td>'
        f'<td class="why">{escape(candidate.source)}</td>'
        f'<td class="why settings">{_settings(line)}</td></tr>\n'
    )


def _settings(line: TriedLine) -> str:
    candidate = line.tried.candidate
    if not candidate.config.knobs:
        return "0"
    return (
        f'<details id="search-knobs-{candidate.pk}">'
        f"<summary>{len(candidate.config.knobs)}</summary>"
        f'<span class="mono small">{escape(line.knobs)}</span></details>'
    )
