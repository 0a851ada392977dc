"""`oltp-gate`: one gate from the request to the exit code."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oltp_gate.api import Api, ClientError

#: By verdict. 2 is an error: nothing can be said.
EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3}
ERROR = 2
#: The longest pause between two looks at the gate, in seconds.
MAX_PAUSE_S = 15.0

_METRICS = {
    "throughput": ("throughput", "-"),
    "p95": ("p95_ms", "+"),
    "path-length": ("server_path_length", "+"),
}
_LIMIT = re.compile(r"\s*([A-Za-z0-9-]+)\s*([+-])\s*([0-9]+(?:\.[0-9]+)?)\s*%?\s*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate that the arguments ask for; the exit code."""
    asked = _parser().parse_args(arguments)
    url, token = asked.url or os.environ.get("ADVISOR_URL"), os.environ.get("ADVISOR_TOKEN")
    try:
        if not url or not token:
            raise ClientError("set ADVISOR_URL (or --url) and ADVISOR_TOKEN")
        api = Api(url, token)
        gate = _follow(api, api.create_gate(_body(asked)))
        for option, name in (("junit", "junit.xml"), ("markdown", "summary.md")):
            if path := getattr(asked, option):
                path.write_text(api.file(gate["id"], name), encoding="utf-8")
        if asked.json:
            asked.json.write_text(json.dumps(gate, indent=2), encoding="utf-8")
    except (ClientError, OSError) as error:
        print(f"oltp-gate: {error}", file=sys.stderr)
        return ERROR
    print(f"{gate['verdict']}: {gate['reason']}")
    return EXIT_CODES.get(gate["verdict"], ERROR)


def _follow(api: Api, gate: dict[str, Any]) -> dict[str, Any]:
    """Print progress until it has ended. Whoever interrupts it cancels the gate."""
    print(
        f"gate {gate['id']} of {gate['name']}: {gate['candidate']} against {gate['baseline']}",
        file=sys.stderr,
    )
    said, pause = "", 1.0
    try:
        while gate["verdict"] == "running":
            text = f"{gate['progress']['fraction'] * 100:3.0f} % {gate['progress']['text']}"
            if text != said:
                print(text, file=sys.stderr, flush=True)
                said = text
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_S)
            gate = api.gate(gate["id"])
    except KeyboardInterrupt:
        api.cancel(gate["id"])
        raise ClientError("interrupted: the gate was cancelled") from None
    return gate


def _body(asked: argparse.Namespace) -> dict[str, Any]:
    """The request; raises OSError for a file that cannot be read."""
    body: dict[str, Any] = {
        "name": asked.name,
        "candidate": _side(asked.config, asked.server, dict(asked.set)),
        "baseline": _side(asked.baseline, asked.baseline_server, {}),
        "confidence": asked.confidence,
        "max_pairs": asked.pairs,
    }
    if asked.limit:
        body["limits"] = dict(asked.limit)
    if asked.device:
        body["device"] = {"path": asked.device}
    for name in (
        "budget_minutes",
        "durability",
        "binary_log",
        "host",
        "workload",
        "load_host",
        "driver",
        "warehouses",
        "tables",
        "table_size",
        "connections",
        "warmup_s",
        "measure_s",
    ):
        if (value := getattr(asked, name)) is not None:
            body[name] = value
    return body


def _side(config: str, server: str, knobs: dict[str, str]) -> dict[str, Any]:
    """A file where there is one of that name or it ends in .cnf, else a stored config."""
    side: dict[str, Any] = {"server": server} if server else {}
    if knobs:
        side["knobs"] = knobs
    path = Path(config)
    if config and (path.suffix == ".cnf" or path.is_file()):
        side["config"] = {"name": path.stem, "text": path.read_text(encoding="utf-8")}
    elif config:
        side["stored"] = config
    return side


def _knob(text: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in text.partition("="))
    if not name or not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.replace("-", "_").lower(), value


def _limit(text: str) -> tuple[str, float]:
    found = _LIMIT.fullmatch(text)
    metric, sign = _METRICS.get(found[1].lower(), ("", "")) if found else ("", "")
    if not found or found[2] != sign:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no limit such as 'throughput -3%' or 'p95 +5%'"
        )
    return metric, float(found[3])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="oltp-gate",
        description="Ask an advisor whether a config or a server may take the place of another. "
        "Exits with 0 (pass), 1 (fail), 3 (undecided) or 2 (error). The token is read from "
        "ADVISOR_TOKEN.",
    )
    parser.add_argument("--url", help="of the advisor (default: ADVISOR_URL)")
    parser.add_argument("--name", default="gate", help="its history goes by this")
    parser.add_argument("--config", default="", metavar="FILE|NAME", help="the candidate")
    parser.add_argument(
        "--baseline",
        default="",
        metavar="FILE|NAME",
        help="a my.cnf, 'default', the hash of a stored config, study:ID, or the name of a study "
        "whose recommendation it is (default: the server's defaults)",
    )
    parser.add_argument(
        "--set",
        type=_knob,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change that of the candidate's config, by default the baseline's; may be repeated",
    )
    parser.add_argument("--server", default="", metavar="PATH", help="the candidate's server")
    parser.add_argument("--baseline-server", default="", metavar="PATH")
    parser.add_argument("--limit", type=_limit, action="append", help="such as 'p95 +5%%'")
    parser.add_argument("--confidence", type=float, default=95.0, metavar="PERCENT")
    parser.add_argument("--pairs", type=int, default=30, metavar="N", help="the most to measure")
    parser.add_argument("--budget", type=int, dest="budget_minutes", metavar="MINUTES")
    parser.add_argument(
        "--durability",
        choices=["D0", "D1", "D2"],
        help="the least safe class that either config may have (default: D0)",
    )
    parser.add_argument(
        "--binlog",
        dest="binary_log",
        choices=["default", "on", "off"],
        help="the binary log of both sides (default: what each server does by default)",
    )
    parser.add_argument("--host", metavar="NAME")
    parser.add_argument("--device", metavar="DIR", help="a directory on the host")
    parser.add_argument("--workload", metavar="NAME", help="tpcc (default) or an oltp_... script")
    parser.add_argument("--driver", choices=["auto", "tpcc-mysql", "sysbench"])
    parser.add_argument("--load-host", metavar="NAME", help="runs the driver")
    parser.add_argument("--warehouses", type=int, metavar="N")
    parser.add_argument("--tables", type=int, metavar="N")
    parser.add_argument("--table-size", type=int, metavar="ROWS")
    parser.add_argument("--connections", type=int, metavar="N")
    parser.add_argument("--warmup", type=int, dest="warmup_s", metavar="S")
    parser.add_argument("--measure", type=int, dest="measure_s", metavar="S")
    parser.add_argument("--junit", type=Path, metavar="FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the gate as the API has it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
