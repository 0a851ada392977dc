"""docker/ without an engine: what the files themselves show.

Their syntax is checked by `make lint` (hadolint, the Compose specification's schema).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKER = REPOSITORY / "docker"
COMPOSE_TEXT = (DOCKER / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SECRETS = {"ADVISOR_SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"}


def instructions() -> list[tuple[str, list[str]]]:
    """The Dockerfile as (instruction, words)."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (DOCKER / "Dockerfile").read_text()).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    return [(line.split()[0], shlex.split(line)[1:]) for line in lines]


def interpolations() -> dict[str, set[str]]:
    """Variable -> what follows its name in `${...}`, for instance `:-8000`."""
    found: dict[str, set[str]] = {}
    for name, rest in re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", COMPOSE_TEXT):
        found.setdefault(name, set()).add(rest)
    return found


def test_the_services_of_a_deployment_are_there() -> None:
    assert {"web", "worker", "redis", "postgres"} <= set(SERVICES)


def test_secrets_come_from_the_environment_and_have_no_default() -> None:
    for name in SECRETS:
        assert interpolations()[name], name
        assert all(rest.startswith(":?") for rest in interpolations()[name]), name
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|URL", name):
                assert re.search(r"\$\{\w+:\?", value), f"{name} holds a value of its own"


def test_the_example_names_every_variable_and_gives_no_secret() -> None:
    lines = (DOCKER / ".env.example").read_text().splitlines()
    assigned = [line.lstrip("#") for line in lines if re.match(r"#?[A-Z_]+=", line)]
    example = dict(line.split("=", 1) for line in assigned)
    assert set(example) == set(interpolations())
    assert all(not example[name] for name in SECRETS)
    # What has no default is not commented out, so that nobody overlooks it.
    required = {name for name, rests in interpolations().items() if ":?" in "".join(rests)}
    assert required == {line.split("=")[0] for line in lines if re.match(r"[A-Z_]+=", line)}


def test_the_filled_in_file_is_ignored_by_git() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text().splitlines()
    assert "docker/.env" in ignored


def test_settings_that_are_passed_exist() -> None:
    documented = (REPOSITORY / "docs" / "settings.md").read_text()
    for service in ("web", "worker", "migrate"):
        for name in SERVICES[service]["environment"]:
            assert f"`{name}`" in documented, name


def test_ports_are_open_to_this_machine_only() -> None:
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert str(port).startswith("127.0.0.1:"), f"{name}: {port}"
    assert not any("network_mode" in service for service in SERVICES.values())
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert [name for name, s in SERVICES.items() if s["networks"] != ["inside"]] == ["web"]


def test_nothing_runs_with_more_rights_than_it_needs() -> None:
    for name, service in SERVICES.items():
        assert not service.get("privileged"), name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert "/var/run/docker.sock" not in str(service.get("volumes")), name
        if "build" not in service:
            assert service["user"] not in ("root", "0"), name
    users = [words[0] for word, words in instructions() if word == "USER"]
    assert users, "the image has no USER"
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])


def test_what_is_stopped_gets_the_time_to_clean_up() -> None:
    def seconds(text: str) -> int:
        return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]

    for name in ("web", "worker", "redis", "postgres"):
        assert seconds(SERVICES[name]["stop_grace_period"]) >= 30, name
    assert seconds(SERVICES["worker"]["stop_grace_period"]) >= 120


def test_only_the_worker_has_server_programs_and_a_device() -> None:
    web, worker = SERVICES["web"], SERVICES["worker"]
    assert web["environment"] == worker["environment"]
    assert worker["command"] == ["python", "manage.py", "worker"]
    assert (web["build"]["target"], worker["build"]["target"]) == ("web", "worker")
    assert web["image"] != worker["image"]
    assert set(map(str, web["volumes"])) < set(map(str, worker["volumes"]))
    stage = ""
    programs: dict[str, list[str]] = {}
    for word, words in instructions():
        stage = words[2] if word == "FROM" else stage
        programs.setdefault(stage, []).append(" ".join(words))
    for name in ("mysql", "sysbench", "fio"):
        assert name not in " ".join(programs["web"]), name
        assert name in " ".join(programs["worker"]), name


def test_what_holds_data_keeps_it_on_a_volume() -> None:
    for name in ("redis", "postgres"):
        [volume] = SERVICES[name]["volumes"]
        assert volume.split(":")[0] in COMPOSE["volumes"]


def test_images_are_named_by_version() -> None:
    stages = {words[2] for word, words in instructions() if word == "FROM" and len(words) > 2}
    images = [words[0] for word, words in instructions() if word == "FROM"]
    images += [service["image"] for service in SERVICES.values() if "build" not in service]
    for image in images:
        if image not in stages:
            assert re.search(r":[\w.-]*(\d|bookworm)", image), image
            assert "latest" not in image
    # The server installed by the first stage runs in the second: one Debian release.
    assert all("bookworm" in image for image in images if image not in stages)


def test_what_is_copied_into_the_image_exists_and_is_not_ignored() -> None:
    allowed = {
        line[1:]
        for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {
        source
        for word, words in instructions()
        if word == "COPY" and not words[0].startswith("--from")
        for source in words[:-1]
    }
    assert copied == allowed
    assert all((REPOSITORY / source).exists() for source in copied)


def test_redis_keeps_its_messages_and_asks_for_the_password(tmp_path: Path) -> None:
    """The command of the compose file, run as it stands, but on a socket of this test."""
    shell, flag, script = SERVICES["redis"]["command"]
    socket = tmp_path / "s"
    here = f"dir {tmp_path}\nport 0\nunixsocket {socket}"
    script = script.replace("$$", "$").replace("dir /data", here)
    process = subprocess.Popen(
        [shell, flag, script],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "REDIS_PASSWORD": "made-up"},
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 10
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        stranger = redis.Redis(unix_socket_path=str(socket))
        with stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        with redis.Redis(unix_socket_path=str(socket), password="made-up") as client:
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            assert client.config_get("appendonly") == {"appendonly": "yes"}
        # The shell made way for the server, so the server itself gets SIGTERM.
        assert "made-up" not in Path(f"/proc/{process.pid}/cmdline").read_text()
        assert Path(f"/proc/{process.pid}/cmdline").read_text().startswith("redis-server")
    finally:
        process.terminate()
        process.wait(timeout=20)
