"""Reads: what each costs alone, and how long they take while many clients ask."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from advisor.tests.api_bench.asking import Answer, ask, at
from advisor.tests.api_bench.report import say
from advisor.tests.api_bench.scene import Scene

KINDS: Final = (
    "studies/?page_size=20",
    "studies/{}/",
    "studies/{}/ranking/",
    "studies/{}/results/",
    "runs/?study={}",
    "recommendations/?page_size=20",
    "hosts/",
    "devices/",
)
#: Of these a client that has the answer is told that it still holds.
_LASTING: Final = ("studies/{}/", "studies/{}/ranking/", "studies/{}/results/")
_ALONE: Final = 20
_BURSTS: Final = 5


@dataclass
class Load:
    """What clients saw, by kind of read, and what it cost."""

    ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: list[int] = field(default_factory=list)
    seconds: float = 0.0
    server_s: float = 0.0
    clients_s: float = 0.0

    @property
    def all_ms(self) -> list[float]:
        return [one for found in self.ms.values() for one in found]

    @property
    def failed(self) -> int:
        return sum(status != 200 for status in self.statuses)

    def show(self, title: str) -> None:
        """A line for each kind, one for all, and the rates."""
        say(f"\n{title}")
        say(f"{'read':34} {'requests':>8} {'p50 ms':>8} {'p95 ms':>8}")
        for kind, found in [*sorted(self.ms.items()), ("all", self.all_ms)]:
            say(f"{kind:34} {len(found):8} {at(found, 0.5):8.1f} {at(found, 0.95):8.1f}")
        number = max(len(self.statuses), 1)
        say(
            f"{number / self.seconds:.1f} requests a second, {self.server_s * 1000 / number:.1f} "
            f"CPU ms each; of one processor the web server takes "
            f"{self.server_s / self.seconds:.0%} and the clients "
            f"{self.clients_s / self.seconds:.0%}"
            f"{f'; {self.failed} failed' if self.failed else ''}"
        )


def path_of(kind: str, study: int) -> str:
    return f"/api/v1/{kind.format(study)}"


def alone(scene: Scene) -> None:
    """One client that asks one thing after the other: each study once, then one again."""
    say(f"\n{'read, one client':34} {'p50 ms':>8} {'p95 ms':>8} {'CPU ms':>8} {'KiB':>8}")

    def line(name: str, requests: list[Callable[[], Answer]]) -> list[Answer]:
        before = scene.cpu_s()
        found = [one() for one in requests]
        cpu = (scene.cpu_s() - before) * 1000 / len(found)
        ms = [one.ms for one in found]
        size = len(found[-1].body) / 1024
        say(f"{name:34} {at(ms, 0.5):8.1f} {at(ms, 0.95):8.1f} {cpu:8.1f} {size:8.1f}")
        return found

    def read(kind: str, study: int, **headers: str) -> Callable[[], Answer]:
        return lambda: ask(scene.port, scene.tokens[0], path_of(kind, study), headers=headers)

    for kind in KINDS:
        read(kind, scene.studies)()  # what the first request imports
        studies = [1 + turn * 17 % (scene.studies - 1) for turn in range(_ALONE)]
        found = line(kind, [read(kind, study) for study in studies])
        if kind in _LASTING:
            line("  the last study again", [read(kind, studies[-1])] * _ALONE)
            tag = {"If-None-Match": found[-1].headers["ETag"]}
            line("  with its ETag: 304", [read(kind, studies[-1], **tag)] * _ALONE)


def load(scene: Scene, clients: int, pause_s: float, seconds: float) -> Load:
    """So many clients for so long, each with an account of its own; `pause_s` between an answer
    and the next request, on average: each time half to one and a half of it.
    """
    seen, lock = Load(), threading.Lock()
    until = time.monotonic() + seconds

    def client(number: int) -> None:
        dice = random.Random(number)
        time.sleep(dice.uniform(0, pause_s))
        turn = number
        while time.monotonic() < until:
            kind, study = KINDS[turn % len(KINDS)], dice.randrange(1, scene.studies + 1)
            answer = ask(scene.port, scene.tokens[number], path_of(kind, study))
            with lock:
                seen.ms[kind].append(answer.ms)
                seen.statuses.append(answer.status)
            turn += 1
            time.sleep(pause_s * dice.uniform(0.5, 1.5))

    begin, server, ours = time.monotonic(), scene.cpu_s(), time.process_time()
    threads = [threading.Thread(target=client, args=(one,)) for one in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen.seconds = time.monotonic() - begin
    seen.server_s, seen.clients_s = scene.cpu_s() - server, time.process_time() - ours
    return seen


def bursts(scene: Scene, clients: int) -> Load:
    """All clients ask at the same moment, as when pipelines begin at the full hour; five times."""
    seen = Load()
    begin, server, ours = time.monotonic(), scene.cpu_s(), time.process_time()
    with ThreadPoolExecutor(clients) as pool:
        for burst in range(_BURSTS):
            gate = threading.Barrier(clients)

            def client(number: int, burst: int = burst, gate: threading.Barrier = gate) -> None:
                kind = KINDS[number % len(KINDS)]
                path = path_of(kind, 1 + (number * 31 + burst * 17) % scene.studies)
                gate.wait()
                answer = ask(scene.port, scene.tokens[number], path)
                seen.ms[kind].append(answer.ms)
                seen.statuses.append(answer.status)

            list(pool.map(client, range(clients)))
    seen.seconds = time.monotonic() - begin
    seen.server_s, seen.clients_s = scene.cpu_s() - server, time.process_time() - ours
    return seen
