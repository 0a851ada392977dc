"""A study's findings for its template's claims: ratio, interval, and claimed range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.charts.figure import Figure
from advisor.charts.palette import BLUE, GREEN, GREY, RED, faded
from advisor.charts.rows import drawn_range, name_rows, percent_of, whiskers
from advisor.charts.text import wrapped
from tuning.results.document import StudyDocument
from tuning.study_templates.evaluation import FindingKind

COLOURS = {FindingKind.CONFIRMED: GREEN, FindingKind.CONTRADICTED: RED}
HALF_ROW = 0.36
# Characters of a line, in a hover box and beside the axis.
HOVER_WIDTH, LABEL_WIDTH = 60, 24
# Pixels of a row, and of a line of its label.
ROW_HEIGHT, LINE_HEIGHT = 44, 17


@dataclass(frozen=True)
class FindingLine:
    """Change of the claim's first config from its second, in percent; None is unknown, for a
    claimed bound "no bound". `label` has the claim's number and its place, ready to draw.
    """

    label: str
    sentence: str
    kind: FindingKind
    change: float
    low: float | None
    high: float | None
    claimed_low: float | None
    claimed_high: float | None


def findings_series(document: StudyDocument) -> list[FindingLine]:
    """The findings with a ratio; claims are numbered from 1, as on the page."""
    claims = {claim.number: claim for claim in document.claims}
    loads = {document.workload[board.workload_id].connections for board in document.boards}
    several = len(loads) > 1
    lines = []
    for one in document.findings:
        found = one.estimate
        if found is None:
            continue
        low, high = claims[one.claim].claimed_low, claims[one.claim].claimed_high
        where = []
        if one.device_id is not None and one.device_id in document.named_devices:
            where.append(document.short_names[one.device_id])
        if several and one.connections is not None:
            where.append(f"{one.connections} conn.")
        lines.append(
            FindingLine(
                label="<br>".join(
                    filter(
                        None,
                        [f"Claim {one.claim}", wrapped(", ".join(where), LABEL_WIDTH)],
                    )
                ),
                sentence=one.sentence,
                kind=FindingKind(one.kind),
                change=percent_of(found.ratio),
                low=None if found.low is None else percent_of(found.low),
                high=None if found.high is None else percent_of(found.high),
                claimed_low=None if low is None else percent_of(low),
                claimed_high=None if high is None else percent_of(high),
            )
        )
    return lines


def findings_figure(lines: Sequence[FindingLine]) -> Figure:
    """Findings from top to bottom; the range in which a claim holds is green."""
    figure = Figure()
    thresholds = [
        end for line in lines for end in (line.claimed_low, line.claimed_high) if end is not None
    ]
    ends = [end for line in lines for end in (line.low, line.high) if end is not None]
    low, high = drawn_range([*(line.change for line in lines), *thresholds], ends)
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    for index, line in enumerate(lines):
        _add_claimed(figure, index, line, low, high)
    figure.add_scatter(
        x=[line.change for line in lines],
        y=list(range(len(lines))),
        mode="markers",
        marker={"color": [COLOURS.get(line.kind, BLUE) for line in lines], "size": 10},
        error_x=whiskers([(line.low, line.change, line.high) for line in lines]),
        customdata=[[wrapped(line.sentence, HOVER_WIDTH)] for line in lines],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    name_rows(figure, [line.label for line in lines])
    figure.update_xaxes(
        title_text="measured change, %",
        range=[low, high],
        zeroline=False,
    )
    figure.update_layout(
        showlegend=False,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
        height=80 + _row_height(lines) * max(len(lines), 3),
    )
    return figure


def _add_claimed(figure: Figure, row: int, line: FindingLine, low: float, high: float) -> None:
    """The claimed range, with a line at each end."""
    ends = (line.claimed_low, line.claimed_high)
    rows = {"y0": row - HALF_ROW, "y1": row + HALF_ROW}
    start, end = (low if ends[0] is None else ends[0]), (high if ends[1] is None else ends[1])
    figure.add_shape(
        type="rect",
        x0=start,
        x1=end,
        **rows,
        fillcolor=faded(GREEN, 0.13),
        line_width=0,
        layer="below",
    )
    for threshold in ends:
        if threshold is not None:
            figure.add_shape(
                type="line", x0=threshold, x1=threshold, **rows, line={"color": GREEN, "width": 2}
            )


def _row_height(lines: Sequence[FindingLine]) -> int:
    most = max((line.label.count("<br>") + 1 for line in lines), default=1)
    return max(ROW_HEIGHT, LINE_HEIGHT * most + 4)
