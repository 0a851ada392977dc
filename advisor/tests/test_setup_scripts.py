"""scripts/: a second set-up does nothing, and servers come from the right place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
DEBIAN = "ID=debian\nVERSION_CODENAME=bookworm\n"
UBUNTU = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n"


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def forbidden_programs(tmp_path: Path) -> Path:
    """A directory for PATH in which everything that installs or downloads leaves a trace."""
    folder = tmp_path / "forbidden"
    folder.mkdir()
    for name in ("apt-get", "apt-cache", "sudo", "pip", "curl", "wget", "useradd", "dpkg-deb"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/called\nexit 99\n')
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize("arguments", [[], ["--tests"]])
def test_a_second_set_up_installs_nothing(forbidden_programs: Path, arguments: list[str]) -> None:
    path = f"{forbidden_programs}:{os.environ['PATH']}"
    # Else it would replace the .venv that runs this test.
    planned = run("scripts/setup", *arguments, "--dry-run")
    assert planned.returncode == 0, f"run `make setup-tests` first:\n{planned.stdout}"
    finished = run("scripts/setup", *arguments, PATH=path, PIP_NO_INDEX="1")
    called = forbidden_programs.parent / "called"
    assert not called.exists()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout == "Set-up: everything is in place.\n"


@pytest.mark.parametrize(("status", "named"), [(0, "chromium-headless-shell"), (100, "chromium")])
def test_the_plan_names_the_browser_that_is_installed(
    tmp_path: Path, status: int, named: str
) -> None:
    programs = {"apt-get": "", "apt-cache": f"exit {status}"} | dict.fromkeys(
        ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"), "# /snap/"
    )
    for name, line in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "os-release").write_text(DEBIAN)
    path, release = f"{tmp_path}:{os.environ['PATH']}", f"{tmp_path}/os-release"
    planned = run("scripts/setup", "--tests", "--dry-run", PATH=path, OS_RELEASE=release)
    (packages,) = re.findall("with apt-get: (.*)", planned.stdout)
    assert named in packages.split()


@pytest.mark.parametrize(
    "command",
    [
        ["scripts/setup", "--nonsense"],
        ["scripts/install-server"],
        ["scripts/install-server", "oracle"],
        ["scripts/install-server", "mysql", "--into"],
    ],
)
def test_wrong_use_is_answered_in_one_line(command: list[str]) -> None:
    finished = run(*command)
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1


@pytest.fixture
def apt_sources(tmp_path: Path) -> Path:
    """An apt configuration whose sources are in the file that is returned."""
    sources = tmp_path / "sources.list"
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{sources}";\nDir::Etc::sourceparts "/dev/null";\n'
        'Dir::Etc::main "/dev/null";\nDir::Etc::parts "/dev/null";\n'
    )
    return sources


def stanzas(apt_sources: Path, server: str, os_release: str, sources: str) -> list[dict[str, str]]:
    """What install-server would ask first on a machine with that os-release and those sources."""
    apt_sources.write_text(sources)
    release = apt_sources.with_name("os-release")
    release.write_text(os_release)
    finished = run(
        *("scripts/install-server", server, "--sources"),
        APT_CONFIG=str(apt_sources.with_name("apt.conf")),
        OS_RELEASE=str(release),
    )
    assert finished.returncode == 0, finished.stderr
    from_here, _, _ = finished.stdout.partition("# if that fails:")
    blocks = from_here.removeprefix("# this machine's mirrors:\n").strip().split("\n\n")
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks if block]


needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="there is no apt here")


@needs_apt
def test_mysql_for_debian_comes_from_unstable_on_the_machines_own_mirror(
    apt_sources: Path,
) -> None:
    [source] = stanzas(
        apt_sources,
        "mysql",
        DEBIAN,
        "deb https://mirror.example/debian bookworm main contrib\n"
        "deb https://mirror.example/debian bookworm-updates main\n"
        "deb https://mirror.example/debian-security bookworm-security main\n"
        "deb https://packages.example/apt cloud-bookworm main\n",
    )
    assert source == {
        "Types": "deb",
        "URIs": "https://mirror.example/debian/",
        "Suites": "sid",
        "Components": "main",
        "Signed-By": "/usr/share/keyrings/debian-archive-keyring.gpg",
    }


@needs_apt
def test_mariadb_comes_from_the_releases_own_suites_only(apt_sources: Path) -> None:
    sources = stanzas(
        apt_sources,
        "mariadb",
        DEBIAN,
        "deb https://mirror.example/debian bookworm main contrib\n"
        "deb https://mirror.example/debian trixie main\n"
        "deb https://mirror.example/debian-security bookworm-security main\n"
        "deb https://packages.example/mariadb bookworm main\n",
    )
    assert {(source["Suites"], source["Components"]) for source in sources} == {
        ("bookworm", "main"),
        ("bookworm-security", "main"),
    }
    assert all("packages.example" not in source["URIs"] for source in sources)


@needs_apt
def test_on_ubuntu_both_come_from_ubuntu(apt_sources: Path) -> None:
    for server in ("mysql", "mariadb"):
        sources = stanzas(
            apt_sources,
            server,
            UBUNTU,
            "deb http://archive.ubuntu.com/ubuntu noble main universe\n"
            "deb http://security.ubuntu.com/ubuntu noble-security main\n",
        )
        assert [(source["Suites"], source["Components"]) for source in sources] == [
            ("noble", "main"),
            ("noble", "universe"),
            ("noble-security", "main"),
        ]
        assert all("ubuntu-archive-keyring" in source["Signed-By"] for source in sources)


@needs_apt
def test_without_a_known_mirror_the_distributions_own_is_left(apt_sources: Path) -> None:
    assert stanzas(apt_sources, "mysql", DEBIAN, "deb https://x.example/apt a main\n") == []
