"""The boards of a study, by device, workload and durability class, and their documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.models import RunState
from tuning.models import VARIANT_PURPOSES, Candidate, DurabilityClass, Recommendation, SlotPurpose
from tuning.results import document as doc
from tuning.results.board import Board
from tuning.results.document import RunFacts
from tuning.results.limits import limit_sentence
from tuning.results.sentences import proportion_text, recovery_sentence
from tuning.results.study_rows import SlotRow, StudyRows
from tuning.results.write_debt import debt_sentence, debtors_of
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.statistics.ranking import Judgement
from tuning.strategy.racing import conclusion_alpha

_NO_BOARDS = {*VARIANT_PURPOSES, SlotPurpose.GATE}


def boards_of(rows: StudyRows) -> list[Board]:
    """Return a board per device, workload and durability class with a slot.

    Candidates that the config check refused have no slot but a line on the boards of their class.
    Configs that a search only screened are on no board; before a race has begun there is only the
    baseline. Variants of a winner are on no board either.
    """
    found: dict[tuple[int, int], list[SlotRow]] = {}
    for slot in rows.slots:
        found.setdefault(slot.place, []).append(slot)
    return [
        _board(rows, there, ranked, durability)
        for _, there in sorted(found.items())
        for ranked in [_for_boards(there)]
        for durability in _classes(ranked)
    ]


def _for_boards(slots: Sequence[SlotRow]) -> list[SlotRow]:
    """The slots that make boards.

    Slots of variants, and of candidates that a search took no further, do not.
    """
    slots = [slot for slot in slots if slot.purpose not in _NO_BOARDS]
    raced = {s.candidate_id for s in slots if s.purpose != SlotPurpose.SEARCH}
    return [slot for slot in slots if slot.candidate_id in raced or slot.candidate.is_baseline]


def _classes(slots: Iterable[SlotRow]) -> list[DurabilityClass]:
    """The classes of the candidates, safest first; that of the baseline if there is no other."""
    candidates = {slot.candidate_id: slot.candidate for slot in slots}.values()
    found = {c.durability for c in candidates if not c.is_baseline}
    found = found or {c.durability for c in candidates}
    return [DurabilityClass(durability) for durability in sorted(found)]


def _board(
    rows: StudyRows,
    there: Sequence[SlotRow],
    ranked: Sequence[SlotRow],
    durability: DurabilityClass,
) -> Board:
    """Make the board of a class: of its slots `there` only the `ranked` make boards."""

    def belongs(one: Candidate) -> bool:
        return one.is_baseline or one.durability == durability

    slots = [slot for slot in ranked if belongs(slot.candidate)]
    first = slots[0]
    refused = [
        one
        for one in rows.candidates.values()
        if one.refusal and one.durability == durability
        if not one.found_by_search and one.taken_from_id is None
    ]
    in_order = sorted((*(slot.candidate for slot in slots), *refused), key=lambda c: c.position)
    candidates = {candidate.name: candidate for candidate in in_order}
    in_blocks = [slot for slot in slots if slot.purpose == SlotPurpose.BLOCK]
    key = _comparable_key([slot for slot in slots if slot.purpose != SlotPurpose.SEARCH])
    ended = [slot for slot in in_blocks if slot.run.is_done]
    variants = [slot for slot in there if slot.purpose in VARIANT_PURPOSES]
    return Board(
        device=first.device,
        workload=first.workload,
        durability=durability,
        candidates=candidates,
        baseline=next(c for c in candidates.values() if c.is_baseline),
        observations=[slot.observation for slot in ended if not _is_excluded(slot.run, key)],
        slots=in_blocks,
        pair_slots=[slot for slot in slots if slot.purpose == SlotPurpose.CONFIRMATION],
        eliminations={
            rows.candidates[one.candidate_id].name: one
            for one in rows.eliminations
            if (one.device_id, one.workload_id) == first.place
            and rows.candidates[one.candidate_id].name in candidates
        },
        excluded=[slot.run.id for slot in ended if _is_excluded(slot.run, key)],
        alpha=conclusion_alpha(rows.study.conclusions),
        screening=[slot for slot in slots if slot.purpose == SlotPurpose.SEARCH],
        ablation_slots=[s for s in variants if belongs(s.candidate.taken_from or s.candidate)],
        aim=rows.aim,
        crash_tests={
            one.candidate.name: one.test
            for one in rows.crash_slots
            if one.test.is_finished and (one.device_id, one.workload_id) == first.place
        },
        confirms=rows.study.confirms,
    )


def screened_runs(slots: Iterable[SlotRow]) -> list[Observation]:
    """The ended runs of a search in one place, as far as they can be compared, in their order."""
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    key = _comparable_key(there)
    ended = [slot for slot in there if slot.run.is_finished]
    return [slot.observation for slot in ended if not _is_excluded(slot.run, key)]


def _comparable_key(slots: Sequence[SlotRow]) -> str:
    """The comparability key by which most runs can be ranked; in a tie that of the newest run.

    A run can be ranked if the baseline of its block has the same key: a key that most runs share
    is of no use if the baseline has another.
    """
    ok = [slot for slot in slots if slot.run.state == RunState.OK]
    baselines = {
        (slot.block, slot.run.comparability_key) for slot in ok if slot.candidate.is_baseline
    }
    keys = [slot.run.comparability_key for slot in sorted(ok, key=lambda slot: slot.order)]
    rankable = Counter(
        slot.run.comparability_key
        for slot in ok
        if (slot.block, slot.run.comparability_key) in baselines
    )
    last = {key: index for index, key in enumerate(keys)}
    return max(last, key=lambda key: (rankable[key], keys.count(key), last[key]), default="")


def _is_excluded(run: RunFacts, key: str) -> bool:
    has_figures = run.state in (RunState.OK, RunState.CUT_SHORT)
    return has_figures and run.comparability_key != key


def board_part(rows: StudyRows, board: Board, ablation: doc.Ablation | None) -> doc.Board:
    """Return what the document says of a board."""
    ids = {one.name: one.pk for one in rows.candidates.values()}
    place = board.device.pk, board.workload.pk
    disturbed = Counter(
        run.candidate_id
        for run in rows.runs
        if run.state == RunState.DISTURBED and (run.device_id, run.workload_id) == place
    )
    stored = next(
        (
            one
            for one in rows.recommendations
            if board.key == (one.device, one.workload, one.durability)
        ),
        None,
    )
    debtors = debtors_of(board)
    judged = dict(board.judgements)
    if not (board.failed or board.over_limits):  # then the advice is about the same ranking
        judged[board.aim.objective] = board.for_advice
    rankings = {metric: _ranking(one, metric, ids) for metric, one in judged.items()}
    return doc.Board(
        device_id=board.device.pk,
        workload_id=board.workload.pk,
        durability=str(board.durability),
        proportion=proportion_text(rows.study, board.device, board.workload),
        baseline_id=board.baseline.pk,
        rows=_rows(board, debtors, disturbed),
        rankings=rankings,
        advice=_ranking(board.for_advice, board.aim.objective, ids),
        leader_id=ids[board.leader] if board.leader else None,
        has_figures=board.has_figures,
        is_raced=bool(board.slots),
        blocks_begun=len({slot.block for slot in board.slots if slot.run.is_done}),
        excluded=tuple(board.excluded),
        pareto=tuple(ids[name] for name in board.pareto),
        failed=tuple(ids[name] for name in board.failed),
        confirmations=tuple(_confirmation(board, one) for one in board.tried),
        debtors=tuple(debtors),
        debt_sentence=debt_sentence(debtors, {pk: name for name, pk in ids.items()}),
        crash_tests=tuple(
            doc.CrashTest.copied_from(
                test,
                candidate_id=ids[name],
                too_slow=board.not_recovered.get(name, ""),
                sentence=recovery_sentence(name, test),
            )
            for name, test in board.crash_tests.items()
        ),
        ablation=ablation,
        recommendation=_recommendation(stored) if stored else None,
    )


def _rows(
    board: Board, debtors: Sequence[doc.Debtor], disturbed: Mapping[int, int]
) -> tuple[doc.BoardRow, ...]:
    ok = [slot for slot in board.slots if slot.run.state == RunState.OK]
    warming = Counter(slot.candidate_id for slot in ok if slot.run.still_warming)
    owing = {one.candidate_id: one.marked for one in debtors}
    load_host = str(board.workload.load_host or "")
    found = []
    for line in board.judgement.ranked:
        pk, left = board.candidates[line.name].pk, board.eliminations.get(line.name)
        runs = [slot.run for slot in ok if slot.candidate_id == pk]
        found.append(
            doc.BoardRow.copied_from(
                line,
                candidate_id=pk,
                figures=doc.Figures.copied_from(line),
                disturbed=disturbed.get(pk, 0),
                warming=warming[pk],
                owing=owing.get(pk, 0),
                left=doc.Elimination.copied_from(left) if left else None,
                missed=board.missed_text(line.name),
                limit=limit_sentence(runs, load_host),
                price=doc.Price.of(map(_costs, runs)),
            )
        )
    return tuple(found)


def _costs(run: doc.RunFacts) -> doc.Costs:
    figures, written = run.figures, run.bytes_written_per_transaction
    return figures.host_path_length, run.cpu_user_pct, run.cpu_sys_pct, written


def _ranking(found: Judgement, metric: Metric, ids: Mapping[str, int]) -> doc.Ranking:
    analysis = found.analysis
    return doc.Ranking(
        metric=metric,
        standings=tuple(
            doc.Standing.copied_from(
                line,
                candidate_id=ids[line.name],
                tied_with=tuple(ids[name] for name in line.tied_with),
                at_most=doc.finite(line.at_most),
            )
            for line in found.ranked
        ),
        verdict=doc.Verdict(
            kind=found.verdict.kind.value,
            candidate_id=ids[found.verdict.candidate],
            sentence=found.verdict.sentence,
        ),
        winner_id=ids[analysis.winner] if analysis.winner else None,
        noise_floor=doc.finite(analysis.floor),
        run_noise=doc.finite(analysis.run_noise),
        same=doc.finite(analysis.same),
        blocks=analysis.blocks,
        drift=found.drift,
    )


def _confirmation(board: Board, candidate: Candidate) -> doc.Confirmation:
    pairs, found = board.pairs_of(candidate), board.confirmations.get(candidate.name)
    throughput = board.throughputs[candidate.name] if found else None
    return doc.Confirmation(
        candidate_id=candidate.pk,
        pairs=tuple(pairs),
        pairs_done=sum(pair.is_finished for pair in pairs),
        state=found.state.value if found else "measuring",
        whole_pairs=found.pairs if found else 0,
        estimate=found.estimate if found else None,
        throughput_pairs=throughput.pairs if throughput else 0,
        throughput=throughput.estimate if throughput else None,
        sentence=found.sentence if found else "",
    )


def _recommendation(row: Recommendation) -> doc.Recommendation:
    effect = Estimate(
        ratio=row.ratio_to_baseline, low=row.low, high=row.high, confidence=row.confidence
    )
    gained = None
    if row.objective_ratio is not None:
        bounds = {"low": row.objective_low, "high": row.objective_high}
        gained = Estimate(ratio=row.objective_ratio, confidence=row.confidence, **bounds)
    return doc.Recommendation.copied_from(
        row, effect=effect, objective_effect=gained, sentence=row.verdict
    )
