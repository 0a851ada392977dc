"""`make bench-api`: how the API stands up to many clients on a database of 10,000 runs.

The web server runs as `serve` runs it, alone, on a home of its own; nothing is measured. After
what each read costs alone, 50 clients read at once, each with an account of its own: now and
then, as pipelines and scripts do, also while 30 others wait for a study, then without a pause,
which shows how many requests a second there can be. Then 20 ask without a pause while, by a row,
a run is measured. At last 1,000 studies are requested at 20 at once, every tenth by two clients
at the same moment with one key. Reads now and then may take 100 ms at p95 on two cores that are
otherwise quiet; of the studies none may be missing or there twice.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from benchmarks.servers.startup import free_port

if TYPE_CHECKING:
    from benchmarks.models import Run

MAX_READ_MS: Final = 100.0
_STUDIES: Final = 556  # of 18 runs each
_REPEATED: Final = 10
_ALONE: Final = 20
_RETRY_S: Final = 10.0
# Of the budget: refusing costs a little as well, and so does what it does by itself.
_TOLERATED: Final = 1.5
_KINDS: Final = (
    "studies/?page_size=20",
    "studies/{}/",
    "studies/{}/ranking/",
    "studies/{}/results/",
    "runs/?study={}",
    "recommendations/?page_size=20",
    "hosts/",
    "devices/",
)


def main() -> int:
    """Print both tables; 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=_STUDIES, help="in the database before")
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--requests", type=int, default=20, help="of each reader")
    parser.add_argument("--think-ms", type=float, default=2000.0, help="between two of them")
    parser.add_argument("--waiters", type=int, default=30, help="that wait for a study")
    parser.add_argument("--beside-s", type=float, default=120.0, help="beside a run")
    parser.add_argument("--creations", type=int, default=1000)
    parser.add_argument("--creators", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="advisor-api-", dir="/var/tmp") as home:
        port = free_port()
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        os.environ |= {
            "ADVISOR_HOME": home,
            "ADVISOR_HOST_NAME": "db-host-1",
            "ADVISOR_PORT": str(port),
            "ADVISOR_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "advisor.settings",
        }
        tokens = _fill(Path(home), options.studies, options.readers)
        with _server(port) as process:
            _costs(port, tokens[0], process, options)
            readers = f"{options.readers} clients, each every {options.think_ms:.0f} ms"
            slow = _read(port, tokens, process, options, readers)
            held = _wait(port, tokens, process, options)
            _read(port, tokens, process, _without_pause(options), "the same without a pause")
            dear = _beside_a_run(port, tokens, process, options)
            wrong = _create(port, tokens, process, options)
    return int(slow or held or dear or wrong)


def _without_pause(options: argparse.Namespace) -> argparse.Namespace:
    return argparse.Namespace(**vars(options) | {"think_ms": 0.0})


def _fill(home: Path, studies: int, accounts: int) -> list[str]:
    """A database with that many studies; a token for each account."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from advisor.access.models import Scope
    from advisor.access.roles import Role
    from advisor.access.tokens import create_token
    from advisor.tests import factories
    from benchmarks.models import Run
    from benchmarks.tests.made_up_host import made_up_host, with_inventory
    from tuning.models import StudyState
    from tuning.results.recommendation import store_recommendations

    with_inventory(factories.make_host(), made_up_host(directories=[home / "device"]))

    def end(run: Run) -> None:
        for name, value in factories.end_well(run).items():
            setattr(run, name, value)

    for number in range(studies):
        study = factories.make_study(
            name=f"Nightly {number}", state=StudyState.FINISHED, blocks=3, end=end
        )
        if number % 10 == 0:
            store_recommendations(study)
    _say(f"{Run.objects.count()} runs in {studies} studies")
    return [
        create_token(factories.make_user(f"client-{one}", Role.OPERATOR), "bench", Scope.RUN)
        for one in range(accounts)
    ]


@contextmanager
def _server(port: int) -> Iterator[psutil.Process]:
    command = [sys.executable, "-m", "gunicorn", "-c", "python:advisor.processes.web"]
    address = ["--bind", f"127.0.0.1:{port}", "--log-level", "error"]
    with subprocess.Popen([*command, *address]) as server:
        try:
            _until_it_answers(port)
            yield psutil.Process(server.pid)
        finally:
            server.terminate()
            server.wait(30)


def _until_it_answers(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if _ask(port, "", "GET", "/healthz")[0] == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError("the web server does not answer")


def _costs(port: int, token: str, process: psutil.Process, options: argparse.Namespace) -> None:
    """What one request costs the web server, asked one after the other."""
    _say(f"\n{'read, alone':34} {'median':>8} {'CPU ms':>8}")
    for kind in _KINDS:
        times, before = [], _cpu(process)
        for turn in range(_ALONE):
            begin = time.perf_counter()
            _ask(port, token, "GET", f"/api/v1/{kind.format(1 + turn * 17 % options.studies)}")
            times.append((time.perf_counter() - begin) * 1000)
        cost = (_cpu(process) - before) * 1000 / _ALONE
        _say(f"{kind:34} {_at(times, 0.5):8.1f} {cost:8.1f}")


def _wait(
    port: int, tokens: list[str], process: psutil.Process, options: argparse.Namespace
) -> bool:
    """Whether those who wait for a study slow down the others, or get no answer at its end."""
    from advisor.tests import factories
    from tuning.models import Study, StudyState

    study = factories.make_study(state=StudyState.RUNNING)
    path = f"/api/v1/studies/{study.pk}/?wait=60"
    with ThreadPoolExecutor(options.waiters) as pool:
        waiting = [
            pool.submit(_ask, port, tokens[turn % len(tokens)], "GET", path)
            for turn in range(options.waiters)
        ]
        slow = _read(port, tokens, process, options, f"the same while {options.waiters} wait")
        still = sum(not one.done() for one in waiting)
        Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
        begin = time.perf_counter()
        answers = [one.result() for one in waiting]
        took = time.perf_counter() - begin
    good = sum(status == 200 for status, _ in answers)
    _say(f"{still} still waited; {good} were answered {took:.1f} s after its end")
    return slow or good != options.waiters


def _beside_a_run(
    port: int, tokens: list[str], process: psutil.Process, options: argparse.Namespace
) -> bool:
    """Whether the web server takes more than it may while a run is measured on its host."""
    from django.conf import settings

    from advisor.tests import factories
    from benchmarks.models import Run, RunState
    from tuning.models import Study, StudyState

    study = factories.make_study(state=StudyState.RUNNING)
    run = Run.objects.filter(slot__study=study)[:1].get()
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    statuses: list[int] = []
    begin = time.monotonic()

    def client(number: int) -> None:
        while time.monotonic() - begin < options.beside_s:
            kind = _KINDS[len(statuses) % len(_KINDS)]
            path = f"/api/v1/{kind.format(1 + len(statuses) % options.studies)}"
            status, _ = _ask(port, tokens[number % len(tokens)], "GET", path)
            statuses.append(status)
            if status == 429:
                time.sleep(_RETRY_S)

    threads = [threading.Thread(target=client, args=(one,)) for one in range(options.creators)]
    for thread in threads:
        thread.start()
    # What may be used at once is used up by then.
    time.sleep(options.beside_s / 2)
    before, middle = _cpu(process), time.monotonic()
    time.sleep(options.beside_s / 2 - 1)
    share = (_cpu(process) - before) / (time.monotonic() - middle) * 100
    for thread in threads:
        thread.join()
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
    Study.objects.filter(pk=study.pk).update(state=StudyState.CANCELLED)
    _say(f"\n{options.creators} clients without a pause while a run is measured")
    _say(
        f"{statuses.count(200)} answered, {statuses.count(429)} refused; the web server then takes"
        f" {share:.1f} % of a core (budget {settings.API_CPU_LIMIT_PCT:g} %)"
    )
    return share > settings.API_CPU_LIMIT_PCT * _TOLERATED


def _read(
    port: int,
    tokens: list[str],
    process: psutil.Process,
    options: argparse.Namespace,
    what: str,
) -> bool:
    """Whether reads are slower than they may be, or failed."""
    times: dict[str, list[float]] = defaultdict(list)
    failed: list[int] = []

    def reader(number: int) -> None:
        time.sleep(options.think_ms / 1000 * number / options.readers)
        for turn in range(options.requests):
            kind = _KINDS[(number + turn) % len(_KINDS)]
            study = 1 + (number * 31 + turn * 17) % options.studies
            begin = time.perf_counter()
            status, _ = _ask(port, tokens[number], "GET", f"/api/v1/{kind.format(study)}")
            times[kind].append((time.perf_counter() - begin) * 1000)
            if status != 200:
                failed.append(status)
            time.sleep(options.think_ms / 1000)

    seconds, cpu = _timed(reader, options.readers, process)
    every = [one for found in times.values() for one in found]
    _say(f"\n{what}")
    _say(f"{'read':34} {'requests':>8} {'median':>8} {'p95 ms':>8}")
    for kind, found in [*sorted(times.items()), ("all", every)]:
        _say(f"{kind:34} {len(found):8} {_at(found, 0.5):8.1f} {_at(found, 0.95):8.1f}")
    _say(f"{len(every) / seconds:.0f} a second, web server {cpu / seconds:.0%} of a core")
    if failed:
        _say(f"failed: {failed}")
    return bool(failed) or _at(every, 0.95) > MAX_READ_MS


def _create(
    port: int, tokens: list[str], process: psutil.Process, options: argparse.Namespace
) -> bool:
    """Whether a study is missing or there twice."""
    from tuning.models import Study

    before = Study.objects.count()
    # Neighbours are taken at the same moment.
    turns = iter(sorted([*range(options.creations), *range(0, options.creations, _REPEATED)]))
    lock = threading.Lock()
    times: list[float] = []
    ids: dict[int, set[int]] = defaultdict(set)
    failed: list[Any] = []

    def creator(number: int) -> None:
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            body = json.dumps({"template": "quick", "name": f"created-{turn}"})
            key = {"Idempotency-Key": f"key-{turn}"}
            token = tokens[turn % len(tokens)]
            begin = time.perf_counter()
            status, answer = _ask(port, token, "POST", "/api/v1/studies/", body, key)
            times.append((time.perf_counter() - begin) * 1000)
            if status == 201:
                ids[turn].add(json.loads(answer)["id"])
            else:
                failed.append((status, answer[:200]))

    seconds, cpu = _timed(creator, options.creators, process)
    created = Study.objects.filter(name__startswith="created-")
    names = list(created.values_list("name", flat=True))
    made = Study.objects.count() - before
    lost, doubled = options.creations - len(set(names)), len(names) - len(set(names))
    changed = sum(len(one) != 1 for one in ids.values())
    _say(f"\n{options.creations} studies requested at {options.creators} at once")
    _say(
        f"{made} made, {lost} lost, {doubled} doubled, {changed} keys with another answer, "
        f"{len(failed)} refused"
    )
    _say(
        f"median {_at(times, 0.5):.0f} ms, p95 {_at(times, 0.95):.0f} ms, "
        f"{len(times) / seconds:.0f} a second, web server {cpu / seconds:.0%} of a core"
    )
    if failed:
        _say(f"refused: {failed[:3]}")
    return bool(lost or doubled or changed or failed or made != options.creations)


def _timed(
    client: Callable[[int], None], number: int, process: psutil.Process
) -> tuple[float, float]:
    """Seconds until all clients are through, and the CPU seconds of the web server."""
    threads = [threading.Thread(target=client, args=(one,)) for one in range(number)]
    begin, before = time.monotonic(), _cpu(process)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin, _cpu(process) - before


def _cpu(process: psutil.Process) -> float:
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))


def _ask(
    port: int,
    token: str,
    method: str,
    path: str,
    body: str | None = None,
    more: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, body, headers | (more or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _at(values: list[float], share: float) -> float:
    found = sorted(values)
    return found[min(len(found) - 1, int(len(found) * share))] if found else float("nan")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
