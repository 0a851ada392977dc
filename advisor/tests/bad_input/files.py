"""Files that are none of theirs: my.cnf, templates, devices and servers on this machine."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from advisor.tests.bad_input.judging import Case, Said
from benchmarks.datafiles import read_data_file
from benchmarks.emulation import shipped
from benchmarks.emulation.shipped import Profiles
from benchmarks.errors import BenchmarkError
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.servers.binary import identify
from tuning.catalogue.target import parse_traits
from tuning.creation.config_check import check_text
from tuning.errors import InvalidConfig, TuningError
from tuning.study_templates import loader
from tuning.study_templates.loader import StudyTemplate

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


def template_cases(folder: Path, dice: random.Random, number: int) -> Iterator[Case]:
    """The files of templates and of emulated devices, each with one fault."""
    texts: list[tuple[str, str]] = [
        ("", ""),
        ("[", "line"),
        ("title: [", "line"),
        ("a: 1\na: 2\n", "twice"),
        ("8.10: x\n", "8.10"),
        ("just text", "mapping"),
        ("- 1\n- 2\n", "mapping"),
        ("!!python/object/apply:os.system ['true']\n", "python"),
        ("a: &a [*a]\n", ""),
        ("a: &a [x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n", "unknown"),
        ("\0", ""),
        ("name: quick\ntitle: a title\n", "name"),
    ]
    for text, name in texts:
        yield _template(folder, text.encode(), name or "bad.yaml")
    yield _template(folder, b"\xff\xfe\xfd", "bad.yaml")
    templates = sorted(Path(loader.__file__).parent.glob("*.yaml"))
    profiles = Path(shipped.__file__).parent / "profiles.yaml"
    for _ in range(number):
        source = dice.choice([*templates, profiles])
        form: Any = Profiles if source == profiles else StudyTemplate
        content = yaml.safe_load(source.read_text())
        key = dice.choice(sorted(content))
        drawn = "".join(dice.choices("qwxyz", k=8))
        way = dice.randrange(2)
        if way == 0:
            content[drawn], named = 1, drawn
        else:
            content[key], named = {drawn: {drawn: drawn}}, key
        yield _template(folder, yaml.safe_dump(content).encode(), named, form)
    yield Case(
        "a template that is not there",
        ("nowhere.yaml",),
        partial(_read, folder / "nowhere.yaml", StudyTemplate),
    )


def _template(folder: Path, data: bytes, name: str, form: Any = StudyTemplate) -> Case:
    def send() -> Said:
        path = folder / "bad.yaml"
        path.write_bytes(data)
        return _read(path, form)

    return Case(f"{form.__name__}: {data[:50]!r}", (name,), send)


def _read(path: Path, form: Any) -> Said:
    return _refused(partial(read_data_file, path, form, is_named=True))


def _refused(call: Callable[[], object]) -> Said:
    try:
        found = call()
    except (BenchmarkError, TuningError) as error:
        return Said(str(error), True, error.code)
    return Said(repr(found), False, "accepted")


def device_cases(folder: Path, dice: random.Random) -> Iterator[Case]:
    """Directories that cannot be measured."""
    for path in [*_strange_paths(folder / "devices", dice), Path("/proc"), Path("/sys")]:
        yield Case(f"device {str(path)[-60:]!r}", (str(path)[:60],), partial(_inspected, path))


def _inspected(path: Path) -> Said:
    return _refused(partial(inspect_directory, path))


def server_cases(folder: Path, dice: random.Random) -> Iterator[Case]:
    """Programs that are no server, or that others could change."""
    for path in [
        *_strange_paths(folder / "servers", dice),
        Path("/bin/true"),
        Path("/proc/1/exe"),
    ]:
        yield Case(
            f"server {str(path)[-60:]!r}",
            (str(path)[:60],),
            partial(_refused, partial(identify, path)),
        )


def _strange_paths(folder: Path, dice: random.Random) -> Iterator[Path]:
    """What is neither a directory of ours nor a program."""
    folder.mkdir()
    drawn = "".join(dice.choices("qwxyz", k=8))
    text = folder / f"text-{drawn}"
    text.write_text("#!/bin/sh\necho mysqld  Ver 8.4.0 for Linux\n")
    yield text
    script = folder / f"script-{drawn}"
    shutil.copy(text, script)
    script.chmod(0o755)
    yield script
    garbage = folder / f"elf-{drawn}"
    garbage.write_bytes(b"\x7fELF" + dice.randbytes(200))
    garbage.chmod(0o755)
    yield garbage
    empty = folder / f"empty-{drawn}"
    empty.touch(0o755)
    yield empty
    open_to_all = folder / f"open-{drawn}"
    open_to_all.write_bytes(Path("/bin/true").read_bytes())
    open_to_all.chmod(0o777)
    yield open_to_all
    pipe = folder / f"pipe-{drawn}"
    os.mkfifo(pipe)
    yield pipe
    loop = folder / f"loop-{drawn}"
    loop.symlink_to(loop)
    yield loop
    dangling = folder / f"dangling-{drawn}"
    dangling.symlink_to(f"/nowhere/{drawn}")
    yield dangling
    shared = folder / f"shared-{drawn}"
    shared.mkdir()
    shared.chmod(0o777)
    yield shared
    yield shared / "below"
    yield folder / ("x" * 300)
    yield Path(f"/nowhere/{drawn}")
    yield Path("/dev/null")
    yield Path("/dev/zero")
    yield text / "below a file"
