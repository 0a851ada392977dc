"""Measures the same configs in models of several sizes: `make bench-scale`.

Each model is a study of the product's own, through `manage.py advise`; the configs are those of
the real server. The baseline is in no ranking: it has the same buffer pool in every model.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from bench.scale.agreement import Standing, agreement
from bench.tables import markdown

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
    found = {}
    for warehouses in map(int, asked.warehouses.split(",")):
        found[warehouses] = _rows(_measured(warehouses, asked))
        print(f"{warehouses} warehouses: {found[warehouses]}", file=sys.stderr, flush=True)
        if asked.output:
            asked.output.write_text(json.dumps(found, indent=1))
    print(tables(found))
    return 0


def tables(found: Mapping[int, Sequence[Mapping[str, Any]]]) -> str:
    """The ratios of every config in every model, and how far the rankings agree."""
    rankings = {size: _standings(rows) for size, rows in found.items()}
    names = sorted({name for ranking in rankings.values() for name in ranking})
    lines = [
        [name, *(_cell(ranking.get(name)) for ranking in rankings.values())] for name in names
    ]
    head = ["config", *(f"{size} warehouses" for size in rankings)]
    pairs = []
    for one, two in combinations(rankings, 2):
        both = agreement(rankings[one], rankings[two])
        tau = "all tied" if both.tau is None else f"{both.tau:.2f}"
        pairs.append([f"{one} and {two}", f"{both.same}", f"{both.other}", tau])
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


def _measured(warehouses: int, asked: argparse.Namespace) -> dict[str, Any]:
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
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def _rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    keys = ("config", "tpmP", "ratio_to_baseline", "interval_low", "interval_high", "runs")
    return [{key: row[key] for key in keys} for row in document["ranking"]]


def _standings(rows: Sequence[Mapping[str, Any]]) -> dict[str, Standing]:
    """Return the standings of configs with a ratio. An unknown bound ties with everything."""
    return {
        row["config"]: Standing(
            row["ratio_to_baseline"],
            0.0 if row["interval_low"] is None else row["interval_low"],
            float("inf") if row["interval_high"] is None else row["interval_high"],
        )
        for row in rows
        if row["config"] in _CONFIGS and row["ratio_to_baseline"] is not None
    }


def _cell(found: Standing | None) -> str:
    return "-" if found is None else f"{found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
