"""Bad arguments of every command, in this process; none of them begins anything."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from argparse import Action
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

from django.core.management import load_command_class

import manage
from advisor.tests.bad_input.judging import Case, Said
from tuning.models import Study

#: Arguments without which a command says first of all that they are missing.
_NEEDED = {
    "attach": ["--script"],
    "backup": ["/nowhere/a"],
    "config": ["check", "/nowhere/my.cnf"],
    "dataset": ["list"],
    "device": ["list"],
    "host": ["drain", "nowhere"],
    "migrate": ["--check"],
    "server": ["list"],
    "study": ["resume", "4711"],
    "token": ["list"],
}
_FOLDER = Path(manage.__file__).parent / "advisor" / "management" / "commands"
OURS = sorted(path.stem for path in _FOLDER.glob("[a-z]*.py"))


def command_cases(study: Study, place: Path, dice: random.Random) -> Iterator[Case]:
    """Options that are none, values that are refused, and names of what is not there."""
    drawn = "".join(dice.choices("qwxyz", k=8))
    for command in OURS:
        yield _case(command, *_NEEDED.get(command, []), f"--{drawn}", names=[drawn])
        yield _case(command, *_NEEDED.get(command, []), drawn, names=[drawn])
    yield from _typed("advise", [], dice)
    yield from _typed("dataset", ["prune"], dice)
    yield from _typed("gate", [], dice)
    cnf = place / "mine.cnf"
    cnf.write_text("[mysqld]\ninnodb_io_capacity = 300\n")
    binary = place / "binary.cnf"
    binary.write_bytes(b"\x00\xff[mysqld]")
    used = place / "used.zip"
    used.write_bytes(b"PK\x03\x04 not really")
    nowhere = f"/nowhere/{drawn}"
    asked: list[tuple[tuple[str, ...], str]] = [
        (("study", "pause", "4711"), "4711"),
        (("study", "pause", drawn), drawn),
        (("study", "pause", "9" * 30), "9" * 30),
        (("study", "pause", "-1"), "-1"),
        (("study", "pause", str(study.pk), "--reason", "x" * 500), "reason"),
        (("study", "extend", str(study.pk)), "--blocks"),
        (("study", "extend", str(study.pk), "--blocks", drawn), drawn),
        (("study", "extend", str(study.pk), "--blocks", "0"), "blocks"),
        (("study", "extend", str(study.pk), "--blocks", "9" * 30), "blocks"),
        (("study", "cancel", str(study.pk)), "already_ended"),
        (("study", "conclude", str(study.pk)), "already_ended"),
        (("study", "resume", str(study.pk)), "already_ended"),
        (("study", "ablation", str(study.pk)), "nothing"),
        (("study", drawn, "1"), drawn),
        (("host", "drain", drawn), drawn),
        (("host", "drain", study.host.name, "--reason", "x" * 500), "reason"),
        (("host", "retire", study.host.name, "--reason", "x" * 500), "reason"),
        (("host", "undrain", study.host.name), "not_drained"),
        (("host", "unretire", study.host.name), "not_retired"),
        (("host", "rename", study.host.name, "a b"), "a b"),
        (("host", "rename", study.host.name, ""), "name"),
        (("host", "rename", study.host.name, "x" * 300), "xxx"),
        (("token", "create", "--role", drawn, "ci"), drawn),
        (("token", "create", "--role", "viewer", "--days", drawn, "ci"), drawn),
        (("token", "create", "--role", "viewer", "--days", "0", "ci"), "days"),
        (("token", "create", "--role", "viewer", "--days", "-3", "ci"), "days"),
        (("token", "create", "--role", "viewer", "--days", "9" * 30, "ci"), "days"),
        (("token", "create", "--role", "viewer", "--days", "999999999", "ci"), "days"),
        (("token", "create", "--role", "viewer", "--user", drawn, "ci"), drawn),
        (("token", "create", "--role", "viewer", ""), "name"),
        (("token", "create", "--role", "viewer", "x" * 500), "name"),
        (("token", "create", "--role", "viewer", "a\nb"), "name"),
        (("token", "revoke", drawn), drawn),
        (("dataset", "delete", drawn), drawn),
        (("dataset", "delete", "../../etc"), "../../etc"),
        (("dataset", "prune", "--days", "-1"), "days"),
        (("dataset", "prune", "--days", "9" * 30), "days"),
        (("backup", f"{nowhere}/a"), nowhere),
        (("backup", str(used)), "used.zip"),
        (("backup", str(place)), str(place)),
        (("backup", "/proc/backup"), "/proc"),
        (("gate",), "candidate"),
        (("gate", "--config", f"{nowhere}.cnf"), nowhere),
        (("gate", "--config", drawn), drawn),
        (("gate", "--config", str(binary)), "binary"),
        (("gate", "--config", "default", "--baseline", drawn), drawn),
        (("gate", "--config", "default", "--baseline", "study:4711"), "4711"),
        (("gate", "--config", str(cnf), "--server", nowhere), nowhere),
        (("gate", "--config", str(cnf), "--host", drawn), drawn),
        (("gate", "--config", str(cnf), "--load-host", drawn), drawn),
        (("gate", "--config", str(cnf), "--device", nowhere), nowhere),
        (("gate", "--config", str(cnf), "--limit", drawn), drawn),
        (("gate", "--config", str(cnf), "--limit", "p95 +nan%"), "nan"),
        (("gate", "--config", str(cnf), "--limit", "p95 +1e999%"), "1e999"),
        (("gate", "--config", str(cnf), "--confidence", drawn), drawn),
        (("gate", "--config", str(cnf), "--confidence", "100"), "confidence"),
        (("gate", "--config", str(cnf), "--confidence", "nan"), "confidence"),
        (("gate", "--config", str(cnf), "--pairs", "0"), "pairs"),
        (("gate", "--config", str(cnf), "--pairs", "9" * 30), "pairs"),
        (("gate", "--config", str(cnf), "--budget", "0"), "budget"),
        (("gate", "--config", str(cnf), "--measure", "9" * 30), "measure"),
        (("gate", "--config", str(cnf), "--name", "x" * 500), "name"),
        (("gate", "--config", str(cnf), "--junit", f"{nowhere}/a.xml"), nowhere),
        (("server", "add", nowhere), nowhere),
        (("server", "add", "/bin/true"), "/bin/true"),
        (("server", "add", str(place)), str(place)),
        (("server", "add", str(cnf)), str(cnf)),
        (("server", "remove", nowhere), nowhere),
        (("device", "add", nowhere), nowhere),
        (("device", "add", str(cnf)), str(cnf)),
        (("device", "add", "/proc"), "/proc"),
        (("device", "add", "~nobody-of-this-name/x"), "~nobody"),
        (("device", "add", "/" + "x" * 300), "xxx"),
        (("device", "remove", nowhere), nowhere),
        (("worker", "--host", drawn), "--host"),
        (("migrate", drawn), drawn),
        (("advise", "--template", drawn), drawn),
        (("advise", "--host", drawn), drawn),
        (("advise", "--device", nowhere), nowhere),
        (("advise", "--device", "/a", "--device", "/b", "--log-dir", "/c"), "--log-dir"),
        (("advise", "--log-dir", nowhere), nowhere),
        (("advise", "--server", nowhere), nowhere),
        (("advise", "--load-host", drawn), drawn),
        (("advise", "--config", nowhere), nowhere),
        (("advise", "--config", str(place)), str(place)),
        (("advise", "--config", "/dev/zero"), "256 KiB"),
        (("advise", "--config", str(binary)), "binary"),
        (("advise", "--template", "compare"), "config"),
        (("advise", "--config", str(cnf), "--config", str(cnf)), "mine"),
        (("advise", "--translate-from", drawn), drawn),
        (("advise", "--durability", "D3"), "D3"),
        (("advise", "--allow", drawn), drawn),
        (("advise", "--connections", f"8,{drawn}"), drawn),
        (("advise", "--connections", ""), "--connections"),
        (("advise", "--connections", "0"), "connections"),
        (("advise", "--connections", "9" * 30), "connections"),
        (("advise", "--connections", "4,4"), "connections"),
        (("advise", "--warehouses", "0"), "warehouses"),
        (("advise", "--warehouses", "9" * 30), "warehouses"),
        (("advise", "--measure", "0"), "measure"),
        (("advise", "--measure", "9" * 30), "measure"),
        (("advise", "--warmup", "-1"), "warmup"),
        (("advise", "--blocks", "0"), "blocks"),
        (("advise", "--budget", "0"), "budget"),
        (("advise", "--budget", "9" * 30), "budget"),
        (("advise", "--memory-limit", "0"), "memory-limit"),
        (("advise", "--memory-limit", "9" * 30), "memory-limit"),
        (("advise", "--data-size", drawn), drawn),
        (("advise", "--data-size", "200G"), "--memory"),
        (("advise", "--memory", "1e400G"), "1e400G"),
        (("advise", "--as-measured"), "--as-measured"),
        (("advise", "--output", str(place)), str(place)),
        (("advise", "--output", f"{nowhere}/my.cnf"), nowhere),
        (("advise", "--export", drawn), drawn),
        (("advise", "--export", f"{drawn}:x"), drawn),
        (("advise", "--export", f"my.cnf:{nowhere}/x"), nowhere),
        (("advise", "--pin", "innodb_io_capacity=1"), "--pin"),
        (("advise", "--search", "--knobs", "0"), "knobs"),
        (("advise", "--search", "--knobs", drawn), drawn),
        (("advise", "--search", "--knobs", "9" * 30), "knobs"),
        (("advise", "--search", "--free", drawn), drawn),
        (("advise", "--search", "--pin", drawn), drawn),
        (("advise", "--search", "--pin", f"{drawn}=1"), drawn),
        (("advise", "--search", "--bound", "innodb_io_capacity=9..3"), "innodb_io_capacity"),
        (("advise", "--search", "--bound", "innodb_io_capacity=9"), "innodb_io_capacity"),
        (("advise", "--search", "--keep", drawn), drawn),
        (("advise", "--search", "--keep", "p95<=-1"), "--keep"),
        (("advise", "--search", "--keep", "p95<=nan"), "--keep"),
        (("advise", "--search", "--keep", "p95<=1e999"), "1e999"),
        (("advise", "--search", "--objective", drawn), drawn),
        (("advise", "--show-space", "--template", drawn), drawn),
    ]
    # Those of `advise` and `gate` first: others look at this machine.
    for words, name in sorted(asked, key=lambda one: one[0][0] not in ("advise", "gate")):
        yield _case(*words, names=[name])


def _typed(command: str, before: list[str], dice: random.Random) -> Iterator[Case]:
    """Each option with a value of another type than it has."""
    parser = load_command_class("advisor", command).create_parser("manage.py", command)
    actions: list[Action] = parser._actions
    for word in before:
        [choices] = [one.choices for one in actions if isinstance(one.choices, dict)]
        actions = choices[word]._actions
    drawn = "".join(dice.choices("qwxyz", k=8))
    for action in actions:
        if not action.option_strings or action.nargs == 0:
            continue
        option = action.option_strings[-1]
        if action.type is int:
            for text in (drawn, "1.5", "", "0x1", "1e3"):
                yield _case(command, *before, option, text, names=[option])
        elif action.choices is not None:
            yield _case(command, *before, option, drawn, names=[drawn])
        yield _case(command, *before, option, names=[option])


def _case(*words: str, names: list[str]) -> Case:
    shown = " ".join(repr(word[:40]) if not word.isprintable() else word[:40] for word in words)
    return Case(f"manage.py {shown}", tuple(names), partial(_run, *words))


def _run(*words: str) -> Said:
    """As from a shell; what argparse and the command say, and the status."""
    out, err = io.StringIO(), io.StringIO()
    status: int | str = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with patch.object(sys, "argv", ["manage.py", *words]):
                manage.main()
        except SystemExit as ended:
            status = 0 if ended.code is None else ended.code
    said = err.getvalue()
    is_one_line = len(said.strip().splitlines()) == 1 or "usage: " in said
    return Said(said, status in (1, 2) and is_one_line, status)
