"""Measures the same configs in models of several sizes: `make bench-scale`.

Each model is a study of the product's own, through `manage.py advise`; the configs are those of
the real server. The baseline is in no ranking: it has the same buffer pool in every model.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf
from pathlib import Path

from pydantic import TypeAdapter

from bench.tables import markdown
from tuning.results.document import StudyDocument
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate

_ROOT = Path(__file__).resolve().parents[2]
# Of a real server with 10 GB of memory for 20 GB of data.
_DATA, _MEMORY = "20G", "10G"
_CONFIGS = {
    "pool-20": ["innodb_buffer_pool_size = 2G"],
    "pool-40": ["innodb_buffer_pool_size = 4G"],
    "pool-60": ["innodb_buffer_pool_size = 6G"],
    "pool-75": ["innodb_buffer_pool_size = 7500M"],
    "buffered-40": ["innodb_buffer_pool_size = 4G", "innodb_flush_method = fsync"],
    "small-redo-60": ["innodb_buffer_pool_size = 6G", "innodb_redo_log_capacity = 16M"],
}


def main(arguments: Sequence[str]) -> int:
    """Run the bench and return its exit status."""
    parser = argparse.ArgumentParser(prog="make bench-scale", description=__doc__)
    parser.add_argument("--warehouses", default="4,8,16", help="sizes of the models")
    parser.add_argument("--blocks", default="5")
    parser.add_argument("--warmup", default="20")
    parser.add_argument("--measure", default="30")
    parser.add_argument(
        "--device", help="a directory on the device; default: the host's usual one"
    )
    parser.add_argument("--output", type=Path, help="also write the rankings there, as JSON")
    asked = parser.parse_args(arguments)
    found: dict[int, dict[str, Estimate]] = {}
    for warehouses in map(int, asked.warehouses.split(",")):
        found[warehouses] = _measured(warehouses, asked)
        print(f"{warehouses} warehouses: {found[warehouses]}", file=sys.stderr, flush=True)
        if asked.output:
            sizes = TypeAdapter(dict[int, dict[str, Estimate]])
            asked.output.write_bytes(sizes.dump_json(found, indent=1))
    print(tables(found))
    return 0


def tables(found: Mapping[int, Mapping[str, Estimate]]) -> str:
    """The ratios of every config in every model, and how far the rankings agree."""
    names = sorted({name for ranking in found.values() for name in ranking})
    lines = [[name, *(_cell(ranking.get(name)) for ranking in found.values())] for name in names]
    head = ["config", *(f"{size} warehouses" for size in found)]
    pairs = []
    for one, two in combinations(found, 2):
        same, other = agreement(found[one], found[two])
        tau = f"{(same - other) / (same + other):.2f}" if same + other else "all tied"
        pairs.append([f"{one} and {two}", f"{same}", f"{other}", tau])
    return "\n".join(
        [
            markdown("tpmP relative to the server's defaults, 95 % interval", head, lines),
            markdown(
                "Pairs of configs that are tied in neither",
                ["models", "same order", "other order", "Kendall's tau"],
                pairs,
            ),
        ]
    )


def agreement(one: Mapping[str, Estimate], two: Mapping[str, Estimate]) -> tuple[int, int]:
    """Return how many pairs of configs, tied in neither ranking, have one order and two orders."""
    same = other = 0
    for first, second in combinations(sorted(one.keys() & two.keys()), 2):
        if _are_tied(one[first], one[second]) or _are_tied(two[first], two[second]):
            continue
        agrees = (one[first].ratio > one[second].ratio) == (two[first].ratio > two[second].ratio)
        same, other = same + agrees, other + (not agrees)
    return same, other


def _are_tied(one: Estimate, two: Estimate) -> bool:
    """Whether the intervals overlap. An unknown bound ties with everything."""
    return (one.low or 0.0) <= (two.high or inf) and (two.low or 0.0) <= (one.high or inf)


def _measured(warehouses: int, asked: argparse.Namespace) -> dict[str, Estimate]:
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, lines in _CONFIGS.items():
            file = Path(folder) / f"{name}.cnf"
            file.write_text("\n".join(["[mysqld]", *lines, ""]))
            files += ["--config", f"{file}"]
        command = [
            *(sys.executable, "manage.py", "advise", "--json", "--template", "compare"),
            *("--data-size", _DATA, "--memory", _MEMORY, "--warehouses", f"{warehouses}"),
            *("--blocks", asked.blocks, "--warmup", asked.warmup, "--measure", asked.measure),
            *("--no-race", "--no-confirm", "--output", f"{Path(folder) / 'my.cnf'}"),
            *(("--device", asked.device) if asked.device else ()),
            *files,
        ]
        answer = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return _standings(StudyDocument.model_validate_json(answer.stdout))


def _standings(document: StudyDocument) -> dict[str, Estimate]:
    """Return the estimates of the configs by name."""
    [board] = document.boards
    standings = board.rankings[Metric.THROUGHPUT].standings
    named = {document.candidate[one.candidate_id].name: one.estimate for one in standings}
    return {name: found for name, found in named.items() if found and name in _CONFIGS}


def _cell(found: Estimate | None) -> str:
    if found is None or found.low is None:
        return "-" if found is None else f"{found.ratio:.2f}"
    high = "more" if found.high is None else f"{found.high:.2f}"
    return f"{found.ratio:.2f} ({found.low:.2f} to {high})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
