"""Files that are no my.cnf."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from advisor.tests.bad_input.judging import Case, Said
from tuning.catalogue.target import parse_traits
from tuning.creation.config_check import check_text
from tuning.errors import InvalidConfig, TuningError

_TARGETS = ("mysql 8.0", "mysql 8.4", "mysql 9.7", "mariadb 10.6", "mariadb 11.8")


def config_cases(dice: random.Random, number: int) -> Iterator[Case]:
    """Texts of a my.cnf: fixed faults on every server, then drawn ones."""
    faults: list[tuple[bytes, str]] = [
        (b"[mysqld\ninnodb_io_capacity=1", "1"),
        (b"[mysqld]\n= 5", "2"),
        (b"[mysqld]\ninnodb_io_capacity =", "innodb_io_capacity"),
        (b"[mysqld]\ninnodb_io_capacity = 99999999999999999999999", "innodb_io_capacity"),
        (b"[mysqld]\ninnodb_buffer_pool_size = 12Q", "12Q"),
        (b"[mysqld]\ninnodb_flush_method = FAST", "FAST"),
        (b"[mysqld]\ninnodb_bufer_pool_size = 1G", "innodb_bufer_pool_size"),
        (b"[mysqld]\n\xff\xfe = 1", "2"),
        (b"[mysqld]\ninnodb_io_capacity = 1\0", "line 2"),
        (b"[mysqld]\ninnodb_io_capacity = " + b"1" * 5000, "2"),
        (b"#" * 300_000, "256 KiB"),
        (b"[mysqld]\n" + b"a=1\n" * 3000, "2000"),
        (b"\xef\xbb\xbf\0", "1"),
        ("[mysqld]\ninnodb_io_capacity = \u0664".encode(), "innodb_io_capacity"),
    ]
    for data, name in faults:
        target = dice.choice(_TARGETS)
        yield _config(data, name, target)
    values = ("innodb_io_capacity", "innodb_page_cleaners", "max_connections", "table_open_cache")
    for _ in range(number):
        knob, drawn = dice.choice(values), "".join(dice.choices("qwxyz", k=6))
        at = dice.randrange(len(knob))
        texts = (
            f"{knob[:at]}{drawn}{knob[at:]} = 5",
            f"{knob} = {dice.choice(('', '-', '1.', '0x', drawn))}{drawn}",
            f"{knob} = {dice.randint(10**22, 10**30)}",
            f"{drawn}\n{knob} = 5",
        )
        before = "\n".join("# a comment" for _ in range(dice.randrange(4)))
        text = dice.choice(texts)
        data = f"[mysqld]\n{before}\n{text}\n".encode()
        named = text.partition(" ")[0].splitlines()[0]
        yield _config(data, named, dice.choice(_TARGETS))


def _config(data: bytes, name: str, target: str) -> Case:
    return Case(f"my.cnf for {target}: {data[:60]!r}", (name,), partial(_check, data, target))


def _check(data: bytes, target: str) -> Said:
    """What the check of a config says of the faults, by line."""
    try:
        found = check_text(data, name="my.cnf", target=parse_traits(target))
    except InvalidConfig as error:
        return Said("; ".join(map(str, error.problems)), True, error.code)
    except TuningError as error:
        return Said(str(error), True, error.code)
    problems = found.report.problems
    return Said("; ".join(map(str, problems)), bool(problems) and not found.cnf, "checked")
