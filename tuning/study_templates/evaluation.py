"""Decides whether a study confirms the claims of its template's source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf

from benchmarks.storage.kinds import kind_words
from tuning.statistics.analysis import Analysis, Difference, Interval, analyse
from tuning.statistics.compare import ALPHA
from tuning.statistics.data import Metric, Observation
from tuning.statistics.verdict import interval_text, percent
from tuning.study_templates.claims import Best, Claim, Faster, Knee, NoDifference


class FindingKind(StrEnum):
    """The possible results of a claim."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_DECIDED = "not_decided"

    @property
    def label(self) -> str:
        """Text for people, as the beginning of a sentence."""
        return self.value.replace("_", " ").capitalize()

    @property
    def is_decided(self) -> bool:
        return self is not FindingKind.NOT_DECIDED


@dataclass(frozen=True)
class ClaimBoard:
    """One board: a ranking on one device with one number of connections.

    device: its name for people. kind: as in `benchmarks.storage.identity.DeviceIdentity`.
    device_id: identifies the device.
    analyses: the ranking by each metric. observations: the runs behind them.
    same_as: for a candidate that was not measured because it is a duplicate: the name of the
        measured one.
    is_throttled: whether the device is emulated and therefore has no seek times.
    """

    device: str
    kind: str
    connections: int
    analyses: Mapping[Metric, Analysis]
    observations: Sequence[Observation] = ()
    alpha: float = ALPHA
    same_as: Mapping[str, str] = field(default_factory=dict)
    device_id: int = 0
    is_throttled: bool = False


@dataclass(frozen=True)
class Finding:
    """The result of a claim on one board.

    said: the measured figures with the interval, or why there is no result; begins in lower case
        or with a name. ratio, interval: of the metric, the claim's first config to its second;
        None without figures. device, kind, connections: the board; None if no board of the study
        applies, and connections also for a knee.
    """

    claim: Claim
    kind: FindingKind
    said: str
    ratio: float | None = None
    interval: Interval | None = None
    device: str | None = None
    device_kind: str | None = None
    connections: int | None = None
    device_id: int | None = None

    @property
    def sentence(self) -> str:
        """The result with its evidence, for people."""
        here = " here" if self.kind.is_decided or self.ratio is not None else ""
        return f"{self.kind.label}{here}: {self.said}."

    @property
    def published(self) -> str:
        """The source's own figures with their place, to be shown beside the sentence."""
        figures = f": {self.claim.published}" if self.claim.published else ""
        return f"{self.claim.source}{figures}"


def evaluate_all(claims: Iterable[Claim], boards: Sequence[ClaimBoard]) -> list[Finding]:
    """The findings of all claims, in their order."""
    return [finding for claim in claims for finding in evaluate(claim, boards)]


def evaluate(claim: Claim, boards: Sequence[ClaimBoard]) -> list[Finding]:
    """The results of a claim: one finding per board that it applies to, at least one.

    For a knee it is one per device. Boards without the claim's candidates are skipped if others
    have them (each durability class has a board of its own).
    """
    suited = [board for board in boards if not claim.devices or board.kind in claim.devices]
    if not suited:
        return [_undecided(claim, _no_such_device(claim, boards))]
    if claim.needs_seeks:
        suited = [board for board in suited if not board.is_throttled]
        if not suited:
            why = "an emulated disk has no seek times, so it cannot decide this"
            return [_undecided(claim, why)]
    having = [board for board in suited if _has(board, claim)]
    if not having:
        names = " and ".join(dict.fromkeys(claim.statement.names))
        return [_undecided(claim, f"there are no comparable figures of {names}")]
    statement = claim.statement
    if isinstance(statement, Knee):
        devices: dict[tuple[int, str], list[ClaimBoard]] = {}
        for board in having:
            devices.setdefault((board.device_id, board.device), []).append(board)
        found = [(there[0], _knee(claim, statement, there)) for there in devices.values()]
    else:
        found = [
            (board, replace(_of_board(claim, board), connections=board.connections))
            for board in having
        ]
    return [
        replace(finding, device=board.device, device_kind=board.kind, device_id=board.device_id)
        for board, finding in found
    ]


def _no_such_device(claim: Claim, boards: Sequence[ClaimBoard]) -> str:
    kinds = " or ".join(map(kind_words, claim.devices)) or "any"
    measured = " and ".join(dict.fromkeys(kind_words(board.kind) for board in boards))
    on = f"; it ran on {measured}" if measured else ""
    return f"the study measured no device of kind {kinds}{on}"


def _has(board: ClaimBoard, claim: Claim) -> bool:
    statement = claim.statement
    metric = Metric.TPMP if isinstance(statement, Knee) else statement.metric
    analysis = board.analyses.get(metric)
    if analysis is None:
        return False
    names = {board.same_as.get(name, name) for name in statement.names}
    with_figures = {line.name for line in analysis.standings if line.ratio is not None}
    return names <= with_figures


def _of_board(claim: Claim, board: ClaimBoard) -> Finding:
    statement = claim.statement
    if isinstance(statement, Faster):
        return _faster(claim, statement, board)
    if isinstance(statement, NoDifference):
        return _no_difference(claim, statement, board)
    if isinstance(statement, Best):
        return _best(claim, statement, board)
    raise TypeError(f"not a statement about one place: {statement!r}")


def _faster(claim: Claim, statement: Faster, board: ClaimBoard) -> Finding:
    found = _between(board, statement.candidate, statement.than, statement.metric)
    if found is None:
        return _same_config(claim, statement.candidate, statement.than)
    kind = _exceeds(found, statement.by, statement.metric, _floor(board, statement.metric))
    needed = f"; the claim is more than {_share(statement.by)}" if statement.by else ""
    said = _said(found, statement.candidate, statement.than, statement.metric)
    return _finding(claim, kind, f"{said}{needed}", found)


def _no_difference(claim: Claim, statement: NoDifference, board: ClaimBoard) -> Finding:
    found = _between(board, statement.candidate, statement.other, statement.metric)
    if found is None:
        same = f"{statement.candidate} and {statement.other}: the same config here"
        return _finding(claim, FindingKind.CONFIRMED, same, Difference(1.0, None))
    low, high = 1 / (1 + statement.within), 1 + statement.within
    kind = FindingKind.NOT_DECIDED
    if found.interval is not None and low <= found.interval.low <= found.interval.high <= high:
        kind = FindingKind.CONFIRMED
    elif FindingKind.CONFIRMED in (
        _exceeds(found, statement.within, Metric.TPMP, _floor(board, statement.metric)),
        _exceeds(_turned(found), statement.within, Metric.TPMP, _floor(board, statement.metric)),
    ):
        kind = FindingKind.CONTRADICTED  # one of the two is ahead by more than that
    said = _said(found, statement.candidate, statement.other, statement.metric)
    return _finding(
        claim, kind, f"{said}; the claim is less than {_share(statement.within)}", found
    )


def _best(claim: Claim, statement: Best, board: ClaimBoard) -> Finding:
    """Compared with the config that comes nearest to it, or is furthest ahead."""
    mine = board.same_as.get(statement.candidate, statement.candidate)
    analysis = board.analyses[statement.metric]
    others = statement.among or tuple(line.name for line in analysis.standings)
    others = tuple(dict.fromkeys(board.same_as.get(name, name) for name in others))
    pairs = {
        name: found
        for name in others
        if name != mine and (found := analysis.between(mine, name)) is not None
    }
    if not pairs:
        return _same_config(claim, statement.candidate, "the others")
    floor = _floor(board, statement.metric)
    kinds = {name: _exceeds(found, 0.0, statement.metric, floor) for name, found in pairs.items()}
    kind = FindingKind.NOT_DECIDED
    if FindingKind.CONTRADICTED in kinds.values():
        kind = FindingKind.CONTRADICTED
    elif set(kinds.values()) == {FindingKind.CONFIRMED}:
        kind = FindingKind.CONFIRMED
    shown = [name for name in pairs if kinds[name] is kind]
    rival = min(shown, key=lambda name: _oriented(pairs[name].ratio, statement.metric))
    said = _said(pairs[rival], statement.candidate, rival, statement.metric)
    return _finding(claim, kind, f"of {len(pairs) + 1} configs {said}", pairs[rival])


def _knee(claim: Claim, statement: Knee, boards: Sequence[ClaimBoard]) -> Finding:
    """Connection counts are compared like configs, with the largest as baseline."""
    runs = {
        board.connections: [
            run._replace(candidate=f"{board.connections}", replicate=0)
            for run in board.observations
            if run.candidate == board.same_as.get(statement.candidate, statement.candidate)
        ]
        for board in boards
    }
    counts = sorted(count for count, found in runs.items() if any(run.counts for run in found))
    most = counts[-1] if counts else 0
    below = [count for count in counts if count <= most * statement.before]
    if not below:
        share = _share(statement.before)
        return _undecided(
            claim, f"{statement.candidate} has no figures with up to {share} of the connections"
        )
    analysis = analyse(
        [run for count in counts for run in runs[count]],
        f"{most}",
        [f"{count}" for count in counts],
        alpha=boards[0].alpha,
    )
    gains = {count: analysis.between(f"{most}", f"{count}") for count in below}
    last = gains[below[-1]]
    flat = [
        count
        for count, gain in gains.items()
        if gain and gain.interval and gain.interval.high <= 1 + statement.within
    ]
    kind = FindingKind.NOT_DECIDED
    shown, at = last, below[-1]
    if flat:
        kind, shown, at = FindingKind.CONFIRMED, gains[flat[0]], flat[0]
    elif last and last.interval and last.interval.low > 1 + statement.within:
        kind = FindingKind.CONTRADICTED
    if shown is None:
        return _undecided(claim, f"{at} and {most} connections share no block")
    said = _said(shown, f"{most} connections", f"{at}", Metric.TPMP, plural=True)
    return _finding(
        claim,
        kind,
        f"with {statement.candidate}, {said}; the claim is less than {_share(statement.within)}",
        shown,
    )


def _between(board: ClaimBoard, name: str, other: str, metric: Metric) -> Difference | None:
    """The difference of two candidates; None if both names are the same measured config."""
    mine, theirs = board.same_as.get(name, name), board.same_as.get(other, other)
    return board.analyses[metric].between(mine, theirs)


def _exceeds(found: Difference, by: float, metric: Metric, floor: float) -> FindingKind:
    """Whether the difference, oriented so that more is better, exceeds the fraction `by`.

    As in a verdict, the interval must exclude the claimed value, and the estimate must differ from
    it by more than the noise floor, in either direction.
    """
    if found.interval is None:
        return FindingKind.NOT_DECIDED
    low, high = sorted(_oriented(b, metric) for b in (found.interval.low, found.interval.high))
    ratio, claimed = _oriented(found.ratio, metric), 1 + by
    if low > claimed and ratio > claimed * (1 + floor):
        return FindingKind.CONFIRMED
    if high < claimed and ratio * (1 + floor) < claimed:
        return FindingKind.CONTRADICTED
    return FindingKind.NOT_DECIDED


def _turned(found: Difference) -> Difference:
    """The inverse difference."""
    interval = found.interval and Interval(
        1 / found.interval.high,
        1 / found.interval.low if found.interval.low else inf,
        found.interval.confidence,
    )
    return Difference(1 / found.ratio, interval)


def _floor(board: ClaimBoard, metric: Metric) -> float:
    return board.analyses[metric].floor or 0.0


def _oriented(ratio: float, metric: Metric) -> float:
    """The ratio, oriented so that more is better."""
    if metric.more_is_better:
        return ratio
    return 1 / ratio if ratio else inf


def _same_config(claim: Claim, name: str, other: str) -> Finding:
    return _undecided(claim, f"{name} and {other} are the same config on this server")


def _undecided(claim: Claim, why: str) -> Finding:
    return Finding(claim, FindingKind.NOT_DECIDED, why)


def _finding(claim: Claim, kind: FindingKind, said: str, found: Difference) -> Finding:
    return Finding(claim, kind, said, found.ratio, found.interval)


def _said(
    found: Difference, name: str, other: str, metric: Metric, *, plural: bool = False
) -> str:
    """Like `a completes 12.0 % more New-Orders per minute than b (95 % interval ...)`."""
    change = percent(abs(found.ratio - 1))
    more = found.ratio >= 1
    verbs = ("complete", "have", "take") if plural else ("completes", "has", "takes")
    words = {
        Metric.TPMP: f"{verbs[0]} {change} {'more' if more else 'fewer'} New-Orders per minute",
        Metric.P95: f"{verbs[1]} a 95th-percentile New-Order response time {change} "
        f"{'longer' if more else 'shorter'}",
        Metric.SERVER_PATH_LENGTH: f"{verbs[2]} {change} {'more' if more else 'fewer'} CPU cycles "
        "per New-Order",
    }[metric]
    interval = "too few runs for an interval"
    if found.interval is not None:
        interval = interval_text(found.interval)
    return f"{name} {words} than {other} ({interval})"


def _share(share: float) -> str:
    """A percentage as written in a claim: 5 %, not 5.0 %."""
    return f"{share * 100:g} %"
