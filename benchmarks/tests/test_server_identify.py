from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks.errors import NotAServer
from benchmarks.processes.child import may, run
from benchmarks.servers import binary as binary_module
from benchmarks.servers.binary import Flavour, ServerBinary, identify, parse_version

PROGRAM = Path("/opt/db/bin/mysqld")


def script(folder: Path, text: str) -> Path:
    """A wrapper such as set-up's, with a program of its own beside it."""
    inner = folder / "usr" / "sbin" / "mysqld"
    inner.parent.mkdir(parents=True)
    shutil.copy("/bin/true", inner)
    path = folder / "mysqld"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("mysql 5.7.42", "mysqld  Ver 5.7.42 for Linux on x86_64 (MySQL Community Server (GPL))"),
        (
            "mysql 8.0.46-0ubuntu0.24.04.1",
            "/usr/sbin/mysqld  Ver 8.0.46-0ubuntu0.24.04.1 for Linux on x86_64 ((Ubuntu))",
        ),
        (
            "mysql 8.4.6-debug",
            "/opt/my sql/bin/mysqld-debug  Ver 8.4.6-debug for Linux on x86_64 (Source dist)",
        ),
        (
            "percona 8.0.36-28",
            "/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 "
            "(Percona Server (GPL), Release 28, Revision 47601f19)",
        ),
        (
            "percona 5.7.20-18-57",
            "mysqld  Ver 5.7.20-18-57 for debian-linux-gnu on x86_64 "
            "(Percona XtraDB Cluster (GPL), Release rel18)",
        ),
        (
            "mariadb 10.11.19-MariaDB-0+deb12u1",
            "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64",
        ),
        (
            "mariadb 11.4.2-MariaDB-ubu2404",
            "mysqld  Ver 11.4.2-MariaDB-ubu2404 for debian-linux-gnu on x86_64 (mariadb.org)",
        ),
        (
            "mariadb 11.8.6-MariaDB-0+deb13u1",
            "/usr/sbin/mariadbd  Ver 11.8.6-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on "
            "x86_64 (-- Please help get to 10k stars at https://github.com/MariaDB/Server)",
        ),
    ],
)
def test_versions_are_read_from_every_flavour(expected: str, line: str) -> None:
    flavour, version, text = parse_version(f"some warning first\n{line}\n", PROGRAM)
    assert f"{flavour} {text}" == expected
    assert text.startswith(".".join(map(str, version)))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "is not a mysqld"),
        ("mysql  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server)", "is not a mysqld"),
        ("mysqldump  Ver 8.0.36 for Linux on x86_64 (MySQL)", "is not a mysqld"),
        ("/usr/bin/mysqladmin  Ver 8.0.36 for Linux on x86_64 (MySQL)", "is not a mysqld"),
        ("mysqld_multi version 2.16 by Jani Tolonen", "is not a mysqld"),
        ("mysqld  Ver 5.6.51 for Linux on x86_64 (MySQL)", "the oldest supported version"),
        ("mysqld  Ver 10.3.39-MariaDB for Linux (MariaDB)", "the oldest supported version"),
    ],
)
def test_other_programs_and_old_servers_are_refused(line: str, why: str) -> None:
    with pytest.raises(NotAServer, match=why):
        parse_version(line, PROGRAM)


def test_a_real_server_has_the_digest_of_its_elf_program(any_server: ServerBinary) -> None:
    digests = set()
    for name in ("mysqld", "mariadbd"):
        program = any_server.path.resolve().parent / "usr" / "sbin" / name
        if program.exists():
            digests.add(hashlib.sha256(program.read_bytes()).hexdigest())
    assert any_server.digest in digests
    assert any_server.basedir is not None
    assert any_server.basedir.is_dir()
    assert (any_server.flavour is Flavour.MARIADB) == ("mariadb" in str(any_server.path).lower())
    assert any_server.version_text.startswith(".".join(map(str, any_server.version)))


def test_paths_that_cannot_be_a_server_are_named_with_the_reason(server_tmp: Path) -> None:
    plain = server_tmp / "plain"
    plain.write_text("text")
    broken = server_tmp / "broken"
    broken.write_bytes(b"\x7fELF but no more")
    broken.chmod(0o755)
    for path, reason in (
        (server_tmp / "absent", "does not exist"),
        (server_tmp, "is a directory"),
        (plain, "is not executable"),
        (Path("/bin/true"), "is not a mysqld"),
        (Path("/" + "x" * 5000), "cannot be accessed"),
        (Path("~no-such-user/mysqld"), "cannot be accessed"),
        (Path("/bin/true\0"), "does not exist"),
        (broken, "is not a mysqld|cannot be run"),
    ):
        with pytest.raises(NotAServer, match=reason) as caught:
            identify(path)
        assert str(path) in str(caught.value)


def test_a_script_that_talks_like_a_server_is_refused(server_tmp: Path) -> None:
    ran = server_tmp / "ran"
    path = script(server_tmp, f'touch {ran}; echo "mysqld  Ver 8.0.36 for Linux (MySQL)"')
    server_tmp.chmod(0o777 | stat.S_ISVTX)
    (server_tmp / "usr" / "sbin" / "mysqld").unlink()
    with pytest.raises(NotAServer, match="is a script"):
        identify(path)
    assert not ran.exists()


def test_a_program_that_others_could_change_is_not_run(server_tmp: Path) -> None:
    ran, place = server_tmp / "ran", server_tmp / "opt"
    place.mkdir()
    path = script(place, f"touch {ran}; echo 1")
    inner, link = place / "usr" / "sbin" / "mysqld", server_tmp / "link"
    link.symlink_to(path)
    fifo = place / "fifo"
    os.mkfifo(fifo, 0o755)
    server_tmp.chmod(0o777 | stat.S_ISVTX)

    def refused(named: Path, reason: str) -> None:
        with pytest.raises(NotAServer, match=reason):
            identify(named)

    refused(fifo, "is not a file")
    # An ordinary user's own group is trusted, as many systems have one for each user.
    group = 0o775 if os.geteuid() == 0 else 0o757
    for writable, mode in ((path, group), (inner, 0o757), (place, 0o777), (inner.parent, group)):
        before = writable.stat().st_mode
        writable.chmod(mode)
        for named in (path, link):
            refused(named, "chmod go-w")
        writable.chmod(before)
    if os.geteuid() == 0:
        for given in (path, inner, place):
            os.chown(given, 65534, 65534)
            refused(link, "belongs to")
            os.chown(given, 0, 0)
        os.chown(link, 65534, 65534, follow_symlinks=False)
        refused(link, "belongs to")
        os.chown(link, 0, 0, follow_symlinks=False)
    assert not ran.exists()
    refused(link, "printed '1'")  # as it was run


def test_a_program_that_prints_without_end_is_ended(server_tmp: Path) -> None:
    with pytest.raises(NotAServer, match="more than 64 KiB"):
        identify(script(server_tmp, "yes"))


def test_a_program_that_hangs_is_ended_with_its_children(
    server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_module, "IDENTIFY_DEADLINE_S", 0.5)
    pids = server_tmp / "pids"
    pids.touch()
    pids.chmod(0o666)
    path = script(server_tmp, f"sleep 98.7 & echo $! >> {pids}; echo $$ >> {pids}; wait")
    began = time.monotonic()
    with pytest.raises(NotAServer, match="did not answer"):
        identify(path)
    assert time.monotonic() - began < 50
    started = pids.read_text().split()
    assert len(started) == 2
    time.sleep(0.1)
    for pid in started:
        state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True)
        assert state.stdout.strip()[:1] in ("", "Z")


def test_a_program_that_is_killed_from_outside_is_run_again(server_tmp: Path) -> None:
    memory = server_tmp / "memory"
    memory.mkdir()
    memory.chmod(0o777)
    program = script(server_tmp, f"mkdir {memory}/killed 2>/dev/null && kill -9 $$\necho 8.4.6")
    assert run(program, "--version").output == "8.4.6\n"


def test_rights_are_those_of_the_servers_user(server_tmp: Path) -> None:
    ours = server_tmp / "ours"
    ours.mkdir(mode=0o700)
    assert may("-x", server_tmp)
    assert may("-w", ours) is (os.geteuid() != 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")
def test_nothing_is_run_as_root(server_tmp: Path) -> None:
    path = script(server_tmp, 'echo "I am $(id -u)"')
    with pytest.raises(NotAServer, match=r"'I am [1-9]"):
        identify(path)


def test_the_system_configuration_has_no_say(
    mysql_binary: ServerBinary, server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (server_tmp / "my.cnf").write_text("[mysqld]\nno_such_option = 1\n!include /nonexistent\n")
    monkeypatch.setenv("MYSQL_HOME", str(server_tmp))
    assert identify(mysql_binary.path) == mysql_binary
    # Nor /etc/my.cnf, which no test can write: this word must be the first.
    with pytest.raises(NotAServer, match="'first: --no-defaults'"):
        identify(script(server_tmp, 'echo "first: $1"'))
