"""Read the telemetry of runs: the limit of a config, postponed writes, the quality of data.

The rule by which one run postpones writes is in `benchmarks.telemetry.write_debt`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from django.conf import settings

from benchmarks.counted import WERE, counted, percent
from benchmarks.models import RunState
from benchmarks.telemetry.disturbance import switched_off
from benchmarks.telemetry.write_debt import WriteDebt
from tuning.models import Candidate, SlotPurpose
from tuning.results.boards import Board
from tuning.results.document import Debtor, Quality, RunFacts, finite
from tuning.results.study_rows import SlotRow

# With CPUs busier than this transactions wait for a CPU; below _IDLE_PCT for something else.
_BUSY_PCT = 85.0
_IDLE_PCT = 60.0
# A driver with this share of the CPU time in use takes what the server could use.
_DRIVER_SHARE = 0.25
# The device is the limit if requests wait for it during this share of the unused CPU time.
_WAITING_SHARE = 0.25
# With less redo log than this among the bytes written, most writes are those of pages.
_REDO_SHARE = 0.3


def limit_sentence(runs: Sequence[RunFacts], load_host: str = "") -> str:
    """Return what limited these runs of a config; "" without telemetry.

    load_host: the name of the host that drove them; "": the driver ran beside the server.
    """
    busy = _median(runs, "cpu_user_pct", "cpu_sys_pct")
    waiting = _median(runs, "cpu_iowait_pct")
    if busy is None or waiting is None:
        return ""
    cpus = f"CPUs {busy:.0f} % busy"
    driver = None if load_host else _driver_share(runs)
    if busy >= _BUSY_PCT and driver is not None and driver >= _DRIVER_SHARE:
        return (
            f"CPU of the driver: {cpus}, {percent(driver)} of that by the driver on the server's "
            "own host. A load host would show what the server can do."
        )
    if busy >= _BUSY_PCT:
        beside = f"; the driver ran on {load_host}" if load_host else ""
        return f"CPU of the server: {cpus}{beside}."
    if waiting >= _WAITING_SHARE * (100 - busy):
        return f"{_of_the_device(runs)} ({cpus}, {waiting:.0f} % waiting for the device)."
    what = "Locks or too few connections" if busy < _IDLE_PCT else "No single thing"
    return f"{what}: {cpus}, and the device is hardly waited for."


def _of_the_device(runs: Sequence[RunFacts]) -> str:
    reads, writes = _median(runs, "data_read_iops"), _median(runs, "data_write_iops")
    if reads is None or writes is None:
        return "The device"
    figures = f"{reads:,.0f} reads and {writes:,.0f} writes per second"
    if reads >= writes:
        return f"Reads: {figures}"
    redo, written = _median(runs, "redo_mb_s"), _median(runs, "data_write_mb_s")
    if redo is not None and written and redo >= _REDO_SHARE * written:
        return f"Commit latency: {figures}, most of them for the redo log"
    return f"Writes of pages: {figures}"


def _driver_share(runs: Sequence[RunFacts]) -> float | None:
    """Return the driver's share of the CPU time that server and driver used."""
    shares = []
    for run in runs:
        per_s = (run.figures.throughput or 0.0) / 60
        if run.server_cores and run.driver_cpu_ms_per_transaction is not None:
            cores = per_s * run.driver_cpu_ms_per_transaction / 1000
            shares.append(cores / (cores + run.server_cores))
    return median(shares) if shares else None


def _median(runs: Sequence[RunFacts], *names: str) -> float | None:
    """Return the median over the runs of the sum of these figures; None without any."""
    rows = ([getattr(run, name) for name in names] for run in runs)
    sums = [sum(row) for row in rows if None not in row]
    return median(sums) if sums else None


# The pairs that confirm a winner may be longer than the blocks; the seconds of runs vary slightly.
_AS_LONG = 0.9
# Candidates that a sentence names.
_MAX_NAMED = 4


def debtors_of(board: Board) -> list[Debtor]:
    """Return the candidates with marked runs in blocks or pairs, in the order of the study."""
    slots = [*board.slots, *board.pair_slots]
    found = (_debtor(one, slots, one) for one in board.candidates.values())
    return [one for one in found if one is not None]


def debt_of_reduced(board: Board, reduced: Candidate) -> Debtor | None:
    """Return the debt of a winner without some of its lines, by its own fresh rounds."""
    slots = [slot for slot in board.ablation_slots if slot.purpose == SlotPurpose.REDUCED]
    return _debtor(reduced, slots, reduced.merged_into or reduced)


def debt_sentence(debtors: Sequence[Debtor], names: Mapping[int, str]) -> str:
    """Return the sentence for the verdict and below a ranking; "" without a marked run."""
    if not debtors:
        return ""
    marked = sum(one.marked for one in debtors)
    named = [
        f"{names[one.candidate_id]} {one.marked} of {counted(one.runs, 'run')} "
        f"({percent(one.put_off)} of its writes)"
        for one in debtors[:_MAX_NAMED]
    ]
    if more := len(debtors) - len(named):
        named.append(f"and {counted(more, 'other config')}")
    return (
        f"{counted(marked, 'run', WERE)} too short for this ranking: disk writes were "
        f"postponed until after the measurement. {', '.join(named)}. Longer runs may rank them "
        "lower."
    )


def _debtor(candidate: Candidate, slots: Sequence[SlotRow], measured: Candidate) -> Debtor | None:
    """Return the debt of a candidate by its runs, which are those of the config `measured`."""
    runs = [slot.run for slot in slots if slot.candidate == measured and slot.run.is_ok]
    marked = [run for run in runs if run.debt_grew]
    if not marked:
        return None
    longest = max(run.measured_s or 0.0 for run in runs)
    long_runs = [_owes(run) for run in runs if (run.measured_s or 0.0) >= _AS_LONG * longest]
    known = [owes for run in marked if (owes := _owes(run)) is not None]
    needs = [needed for owes in known if (needed := owes.seconds_to_settle) is not None]
    settled = sum(owes is not None and owes.is_settled for owes in long_runs)
    return Debtor(
        candidate_id=candidate.pk,
        marked=len(marked),
        runs=len(runs),
        put_off=median(owes.put_off_most for owes in known),
        seconds_to_settle=finite(median(needs)) if needs else None,
        # One run that ended in the middle of a flush does not decide.
        is_settled=settled > len(long_runs) / 2,
    )


def _owes(run: RunFacts) -> WriteDebt | None:
    return WriteDebt.from_json(run.write_debt) if run.write_debt else None


#: Causes of a disturbance in words.
NAMES = {
    "steal": "steal time of the hypervisor",
    "foreign_cpu": "CPU use of other programs",
    "foreign_io": "disk use of other programs",
    "stall": "stalls of the host",
    "suspended": "suspension of the machine",
    "swap": "swapping",
    "throttled": "thermal throttling of the CPU",
    "host_changed": "a changed host configuration",
    "interval": "gaps in the telemetry",
    "client": "a load host that was the limit itself",
}


def quality_of(history: Iterable[RunFacts]) -> Quality:
    """Return the data quality of the ranked runs, including those that were measured again.

    The short runs of a search are not ranked.
    """
    runs = [run for run in history if run.purpose != SlotPurpose.SEARCH]
    newest = (run for run in runs if run.is_finished and run.replaced_by is None)
    unwatched = tuple(sorted({line for run in newest for line in run.unwatched}))
    disturbed = [run for run in runs if run.state == RunState.DISTURBED]
    ok = [run for run in runs if run.is_ok]
    kinds: Counter[str] = Counter()
    for run in sorted(disturbed, key=lambda run: run.id):
        kinds.update({found["kind"] for found in run.disturbances})
    limit_pct = settings.STEAL_LIMIT_PCT
    stolen = [pct for run in ok if (pct := run.cpu_steal_pct or 0.0) > limit_pct > 0]
    found = Quality(
        disturbed=len(disturbed),
        without_figure=sum(run.replaced_by is None for run in disturbed),
        still_warming=sum(run.still_warming for run in ok),
        kinds=dict(kinds.most_common()),
        unwatched=unwatched,
        sentence="",
    )
    return found.model_copy(update={"sentence": " ".join(_about(found, stolen))})


def _about(found: Quality, stolen_pct: Sequence[float]) -> Iterator[str]:
    if number := found.disturbed:
        lost, causes = found.without_figure, ", ".join(NAMES.get(one, one) for one in found.kinds)
        by = f" by {causes}" if causes else ""
        parts = [f"{number - lost} measured again"] if number > lost else []
        parts += [f"{lost} left out"] if lost else []
        yield f"{counted(number, 'run', WERE)} disturbed{by}: {' and '.join(parts)}."
    if found.still_warming:
        yield f"{counted(found.still_warming, 'run', WERE)} still warming up."
    if stolen_pct:
        yield (
            f"In {counted(len(stolen_pct), 'counted run')} the hypervisor took up to "
            f"{max(stolen_pct):.1f} % of the CPU time, as is usual on this host."
        )
    if off := switched_off(found.unwatched):
        yield f"Not monitored, because switched off: {', '.join(off)}."
