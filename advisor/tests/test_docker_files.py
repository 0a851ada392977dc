"""What the Compose file and the Dockerfile promise of secrets, ports and rights."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

DOCKER = Path(__file__).resolve().parents[2] / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
COMPOSE_TEXT = (DOCKER / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SECRETS = {"ADVISOR_SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"}
OURS = [name for name, service in SERVICES.items() if "build" in service]


def instructions() -> list[tuple[str, list[str]]]:
    """The Dockerfile as (instruction, words)."""
    text = re.sub(r"(?m)^\s*#.*\n", "", DOCKERFILE).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    return [(line.split()[0], shlex.split(line)[1:]) for line in lines]


def image_user() -> str:
    """UID and GID of the processes in both images."""
    return [words[0] for word, words in instructions() if word == "USER"][-1]


def interpolations() -> dict[str, set[str]]:
    """Variable -> what follows its name in `${...}`, for instance `:-8000`."""
    found: dict[str, set[str]] = {}
    for name, rest in re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", COMPOSE_TEXT):
        found.setdefault(name, set()).add(rest)
    return found


def test_secrets_come_from_the_environment_and_have_no_default() -> None:
    for name in SECRETS:
        assert interpolations()[name], name
        assert all(rest.startswith(":?") for rest in interpolations()[name]), name
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|URL", name):
                assert re.search(r"\$\{\w+:(\?|-\})", value), f"{name} holds a value of its own"


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
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", image_user())
    assert all(SERVICES[name]["read_only"] is True for name in OURS)


def test_the_worker_alone_has_a_home_that_stays() -> None:
    """It starts servers that it finds there: nobody else may write there."""
    home = "/var/lib/oltp-advisor"
    assert f"home:{home}" in SERVICES["worker"]["volumes"]
    uid, gid = image_user().split(":")
    for name in set(OURS) - {"worker"}:
        assert not SERVICES[name].get("volumes"), name
        assert f"{home}:uid={uid},gid={gid},mode=0700" in SERVICES[name]["tmpfs"], name
    assert all("/tmp" in SERVICES[name]["tmpfs"] for name in OURS)
