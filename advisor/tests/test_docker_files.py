"""docker/ without an engine: what the files themselves show.

Their syntax is checked by `make lint` (hadolint, the Compose specification's schema).
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml
from redis.backoff import NoBackoff
from redis.retry import Retry

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKER = REPOSITORY / "docker"
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
    assert {"docker/.env", "docker/settings.env"} <= set(ignored)


def test_every_setting_can_be_given_to_all_that_is_ours() -> None:
    """The compose file names only those that it needs itself."""
    for name in OURS:
        assert SERVICES[name]["env_file"] == [{"path": "settings.env", "required": False}], name


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


def test_what_containers_print_is_not_kept_for_ever() -> None:
    for name, service in SERVICES.items():
        assert {"max-size", "max-file"} <= set(service["logging"]["options"]), name


def test_what_runs_beside_a_measurement_is_seldom_looked_at() -> None:
    looked_at = {name: service for name, service in SERVICES.items() if "healthcheck" in service}
    assert set(looked_at) == {"web", "redis", "postgres"}
    for name, service in looked_at.items():
        look = service["healthcheck"]
        assert look["interval"].endswith("m"), name
        # Without a start period the other is not used.
        assert look["start_interval"].endswith("s"), name
        assert look["start_period"].endswith("m"), name


def test_postgresql_is_ready_when_others_can_reach_it() -> None:
    """While its image makes the database, a server answers that listens on a socket only."""
    words = SERVICES["postgres"]["healthcheck"]["test"]
    assert words[words.index("--host") + 1] == "127.0.0.1"


@contextmanager
def dashboard(status: int, name: str) -> Iterator[int]:
    """The port of something that answers /readyz with that status, as Django to one name only."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.headers["Host"] == name and self.path == "/readyz"
            self.send_response(status if is_known else 400)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("allowed", "name", "status", "is_healthy"),
    [
        ("127.0.0.1,localhost", "127.0.0.1", 200, True),
        (".example.org, 10.0.0.1", "example.org", 200, True),
        ("*", "localhost", 200, True),
        ("127.0.0.1,localhost", "127.0.0.1", 503, False),
    ],
)
def test_the_dashboard_is_healthy_when_it_is_ready(
    allowed: str, name: str, status: int, is_healthy: bool
) -> None:
    """The command of the compose file, run as it stands, but on a port of this test."""
    word, _, *command = SERVICES["web"]["healthcheck"]["test"]
    assert word == "CMD"
    with dashboard(status, name) as port:
        done = subprocess.run(
            [sys.executable, *(text.replace("8000", str(port)) for text in command)],
            env={"ADVISOR_ALLOWED_HOSTS": allowed},
            check=False,
        )
    assert (done.returncode == 0) is is_healthy


def seconds(text: str) -> int:
    """Of a length of time as the compose file writes it."""
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def test_what_is_stopped_gets_the_time_to_clean_up() -> None:
    for name in ("web", "worker", "redis", "postgres"):
        assert seconds(SERVICES[name]["stop_grace_period"]) >= 30, name
    assert seconds(SERVICES["worker"]["stop_grace_period"]) >= 120


def test_only_the_worker_has_server_programs_and_a_device() -> None:
    web, worker = SERVICES["web"], SERVICES["worker"]
    assert set(worker["environment"].items()) < set(web["environment"].items())
    assert set(web["environment"]) - set(worker["environment"]) >= {"ADVISOR_SECRET_KEY"}
    assert worker["command"] == ["python", "manage.py", "worker"]
    assert (web["build"]["target"], worker["build"]["target"]) == ("web", "worker")
    assert web["image"] != worker["image"]
    assert "/device" in [one["target"] for one in worker["volumes"] if isinstance(one, dict)]
    stage = ""
    programs: dict[str, list[str]] = {}
    for word, words in instructions():
        stage = words[2] if word == "FROM" else stage
        programs.setdefault(stage, []).append(" ".join(words))
    for name in ("mysql", "sysbench", "fio"):
        assert name not in " ".join(programs["web"]), name
        assert name in " ".join(programs["worker"]), name


@pytest.mark.parametrize("name", ["web", "worker"])
def test_what_runs_without_the_compose_file_runs_alike(name: str) -> None:
    """docs/docker.md has the commands for a machine of a fleet."""
    text = (REPOSITORY / "docs" / "docker.md").read_text().replace("\\\n", " ")
    block = re.search(rf"^<!-- {name} -->\n```sh\n(.*?)^```", text, re.M | re.S)
    assert block is not None
    service = SERVICES[name]
    build, *_, run = map(shlex.split, block[1].splitlines())
    target, image = service["build"]["target"], service["image"]
    told = f"docker build --file docker/Dockerfile --target {target} --tag {image} ."
    assert " ".join(build) == told
    # The container has the image's name.
    place = run.index(image, run.index(image) + 1)
    words, command = " ".join(run[:place]), run[place + 1 :]
    for option in (
        *("--detach", "--init", "--read-only", "--cap-drop ALL"),
        f"--restart {service['restart']}",
        f"--security-opt {service['security_opt'][0]}",
        f"--stop-timeout {seconds(service['stop_grace_period'])}",
        *(f"--tmpfs {place}" for place in service["tmpfs"]),
        *(
            f"--ulimit {of}={number['soft']}:{number['hard']}"
            for of, number in service.get("ulimits", {}).items()
        ),
        *(f"--volume oltp-advisor-{one}" for one in service.get("volumes", []) if "home" in one),
        "--env-file /etc/oltp-advisor.env",
    ):
        assert option in words, option
    # Beside the network of the machine, the image's own command would listen on all its addresses.
    web, _ = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.M)
    there = [word for word in json.loads(web) if word not in ("--access-logfile", "-")]
    where = {"0.0.0.0:8000": "10.0.0.1:8000"}
    assert command == ([where.get(word, word) for word in there] if name == "web" else [])


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


def test_the_program_can_be_read_and_not_changed_whatever_the_umask_of_the_checkout_was(
    tmp_path: Path,
) -> None:
    folder, file = tmp_path / "advisor", tmp_path / "advisor" / "settings.py"
    folder.mkdir()
    file.touch()
    folder.chmod(0o770)
    file.chmod(0o660)
    done = [" ".join(words).split(" && ") for word, words in instructions() if word == "RUN"]
    (command,) = [one.strip() for steps in done for one in steps if "chmod -R" in one]
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o755, 0o644)


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
        # Without one the client tries three times more, seconds apart.
        once = Retry(NoBackoff(), 0)
        stranger = redis.Redis(unix_socket_path=str(socket), retry=once)
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
