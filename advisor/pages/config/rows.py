"""The rows of the table of a config's results: a hundred, as templates half of the page's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from advisor.templatetags.readable import interval_change
from advisor.wording.addresses import device_url, study_url
from advisor.wording.formatting import ABSENT, megacycles, percent_change, significant
from tuning.comparison.config_history import ConfigResult


def result_rows(results: Sequence[ConfigResult], names: Mapping[int, str]) -> SafeString:
    """With the columns of `templates/config/detail.html`; `names`: of devices, by their ids."""
    return SafeString("\n".join(_row(one, names[one.device.pk]) for one in results))


def _row(one: ConfigResult, device: str) -> str:
    study = f"{study_url(one.study.pk)}#candidate-{one.candidate}"
    on_host = f"as {one.name} on {one.study.host}"
    last = f"{localtime(one.last):%Y-%m-%d}" if one.last else ABSENT
    return (
        '<tr role="row"><th role="rowheader" scope="row" class="name">'
        f'<a href="{study}">{escape(one.study.name)}</a>'
        f'<span class="note">{escape(on_host)}</span></th>'
        '<td role="cell" class="place" data-label="Device">'
        f'<a href="{device_url(one.device.pk)}">{escape(device)}</a></td>'
        f'<td role="cell" class="num" data-label="Connections">{one.workload.connections}</td>'
        f'<td role="cell" class="num" data-label="tpmP, median">{significant(one.tpmP)}</td>'
        f'<td role="cell" class="num" data-label="Change">{_change(one)}</td>'
        f'<td role="cell" class="num" data-label="p95, ms">{significant(one.p95_ms)}</td>'
        '<td role="cell" class="num" data-label="Path length, Mcycles">'
        f"{megacycles(one.server_path_length)}</td>"
        f'<td role="cell" class="num" data-label="Runs">{one.runs}</td>'
        f'<td role="cell" class="nowrap" data-label="Last run">{last}</td></tr>'
    )


def _change(one: ConfigResult) -> str:
    if one.is_baseline:
        link = f'<a href="{device_url(one.device.pk)}#baseline">its history</a>'
        return f'<span class="tag">baseline</span><span class="unit">{link}</span>'
    if one.interval is None:
        return percent_change(one.ratio)
    bounds = escape(interval_change(one.interval))
    return f'{percent_change(one.ratio)}<span class="unit">{bounds}</span>'
