"""Definitions of numbers and words, for the help page, short hints and docs/reference/numbers.md.

Rewrite docs/reference/numbers.md: .venv/bin/python -m advisor.tests.numbers_page
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Definition:
    """`key` is its anchor on the help page, `doc` the page of docs/ with the whole of it."""

    key: str
    title: str
    text: str
    doc: str = ""


DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "throughput",
        "Throughput",
        "Transactions completed per minute of the measured interval. TPC-C counts its New-Orders "
        "alone, and so do all figures per transaction: tpmP. It is not tpmC, which is reserved "
        "for audited TPC results; these are not audited. More is better.",
    ),
    Definition(
        "p95",
        "p95, p99, max",
        "Percentiles of the response times of all transactions that count, exact to within "
        "0.01 %: 95 (99) % of them took no longer. Max is the slowest one. They are never "
        "a mean of percentiles of shorter intervals. Less is better.",
        "explanation/statistics.md",
    ),
    Definition(
        "path-length",
        "Path length",
        "CPU cycles spent per transaction: by mysqld alone (server) or by the whole host, "
        "driver included. It is clock rate times CPUs times their use (user and system), divided "
        "by transactions per second. Rankings use the server's. Less is better.",
    ),
    Definition(
        "baseline",
        "Baseline",
        "The config that all others are compared with, usually the server's defaults or your "
        "own my.cnf. It runs twice in every block.",
        "explanation/statistics.md",
    ),
    Definition(
        "block",
        "Block",
        "One pass through all candidates in random order, the baseline twice. What changes on "
        "the host over hours affects all runs of a block alike and falls out of the comparison.",
        "explanation/statistics.md",
    ),
    Definition(
        "change",
        "Change from the baseline",
        "A candidate's figure divided by the baseline's of the same block, averaged over the "
        "blocks. It is estimated from the pairs, so it can differ a little from the ratio of "
        "the medians in the table.",
        "explanation/statistics.md",
    ),
    Definition(
        "interval",
        "Interval",
        "The range in which the ratio to the baseline lies with the confidence beside it: for "
        "all candidates at once, or of a config in fresh pairs. If it includes zero change, no "
        "difference was measured. More blocks make it narrower.",
        "explanation/statistics.md",
    ),
    Definition(
        "noise-floor",
        "Noise floor",
        "How much the same config, entered twice, can differ in this study: 95 % of such "
        "differences are smaller. It shows how noisy the host is, and decides nothing.",
        "explanation/statistics.md",
    ),
    Definition(
        "tied",
        "Tied, rank",
        "Candidates that cannot be told apart share a rank: each is tied with the best of its "
        "group. A smaller difference may exist; more blocks would show it.",
        "explanation/statistics.md",
    ),
    Definition(
        "confirmation",
        "Confirmation",
        "The best of several candidates is partly best by luck, so its measured lead is too "
        "high on average. The best-looking one and the baseline are therefore measured again in "
        "fresh pairs, which alone decide whether it is recommended and state its effect. If they "
        "do not confirm it, the runner-up may get pairs.",
        "explanation/statistics.md",
    ),
    Definition(
        "race",
        "Race",
        "Candidates that are measurably behind the leader are dropped after a few blocks, and "
        "the time is spent on those that are close.",
        "explanation/statistics.md",
    ),
    Definition(
        "pareto",
        "Pareto front",
        "The candidates that no other beats in one of the three rankings without ranking worse "
        "in another: each is a sensible choice for somebody.",
    ),
    Definition(
        "ablation",
        "Testing each line",
        "A confirmed winner is measured without some of its lines. Lines without which nothing "
        "measurable is lost are left out, if the config without them passes fresh rounds "
        "against the winner and the baseline.",
        "explanation/statistics.md",
    ),
    Definition(
        "disturbed",
        "Disturbed",
        "Something else used the host while a run was measured: other programs, a neighbour on "
        "the same machine (more steal time than usual), swapping, a slower clock. Such a run is "
        "void: it has no result and is measured again.",
        "explanation/disturbances.md",
    ),
    Definition(
        "no-result",
        "No result",
        "Runs that are in no figure: the server or the driver failed, the run was lost, or it was "
        "disturbed and not measured again. A run that was cut short as too slow is not among "
        "them: it shows at most how fast its config is.",
    ),
    Definition(
        "warming",
        "Still warming up",
        "Throughput had a trend during the measurement. The run counts, but a longer warm-up "
        "would give a steadier figure.",
        "explanation/disturbances.md",
    ),
    Definition(
        "write-debt",
        "Write debt",
        "What the server still has to write when the measurement ends: dirty pages, redo that is "
        "not checkpointed, rows to purge. A config that only puts this off looks faster in a "
        "short run than it is in a long one.",
        "explanation/write-debt.md",
    ),
    Definition(
        "comparable",
        "Comparable",
        "Two runs are ranked together only if host, device, server, driver, dataset and binary "
        "log were the same. What differs is named; nothing is computed across it.",
        "explanation/statistics.md",
    ),
    Definition(
        "durability",
        "Durability class",
        "D0 loses nothing that was committed. D1 may lose about the last second after a crash. "
        "D2 may corrupt the database. Classes never share a ranking.",
        "explanation/configs.md",
    ),
    Definition(
        "gate",
        "Gate",
        "A candidate and a baseline are measured in pairs until every limit is kept or one is "
        "broken. The intervals hold after every pair, so a gate may end after any of them. It is "
        "undecided when the pairs or the minutes are used up before.",
        "how-to/ci.md",
    ),
    Definition(
        "bytes-written",
        "Bytes written per transaction",
        "What data and log devices wrote in the measured interval, divided by its transactions; "
        "where a device cannot be told from others, what mysqld itself wrote. It wears flash "
        "and fills the queue of a disk.",
    ),
    Definition(
        "cpu-shares",
        "User, system, I/O wait, steal",
        "Shares of the time of all CPUs of the host: in programs, in the kernel, idle while "
        "waiting for a device, and taken away by the machine below a virtual one.",
    ),
    Definition(
        "iops",
        "IOPS",
        "Requests per second that the device completed. Reads and writes are counted apart, "
        "data and log device as well.",
        "explanation/devices.md",
    ),
    Definition(
        "data-quality",
        "Data quality",
        "How many of a study's runs were disturbed, had a trend or were not watched in full. "
        "It says how far the figures can be trusted; it changes none of them.",
        "explanation/disturbances.md",
    ),
)
BY_KEY = {one.key: one for one in DEFINITIONS}
# Terms that a study's page explains itself.
OF_A_STUDY = ("throughput", "p95", "path-length", "interval", "noise-floor", "confirmation")


def markdown() -> str:
    """The page of docs/ with all of them."""
    parts = [
        "# Numbers and words\n",
        "What the pages, the terminal and the API show, in plain words. The dashboard has the "
        "same texts under *Help*.\n",
    ]
    for one in DEFINITIONS:
        more = f" More: [{PurePosixPath(one.doc).stem}](../{one.doc})." if one.doc else ""
        parts.append(f"## {one.title}\n\n{one.text}{more}\n")
    return "\n".join(parts)
