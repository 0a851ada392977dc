"""Clients that ask beside a run, and that create studies."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from typing import Any, Final

from advisor.tests.api_bench.asking import ask, at
from advisor.tests.api_bench.report import Promises, say
from advisor.tests.api_bench.scene import Scene

_REPEATED: Final = 10


def create(scene: Scene, creations: int, clients: int, promises: Promises) -> None:
    """Studies requested at once, every tenth by two clients at the same moment with one key."""
    from tuning.models import Study

    before = Study.objects.count()
    # Neighbours are taken at the same moment.
    turns = iter(sorted([*range(creations), *range(0, creations, _REPEATED)]))
    lock = threading.Lock()
    times: list[float] = []
    ids: dict[int, set[int]] = defaultdict(set)
    failed: list[Any] = []

    def creator() -> None:
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            body = json.dumps({"template": "quick", "name": f"created-{turn}"})
            key = {"Idempotency-Key": f"key-{turn}"}
            token = scene.tokens[turn % len(scene.tokens)]
            answer = ask(
                scene.port, token, "/api/v1/studies/", method="POST", body=body, headers=key
            )
            times.append(answer.ms)
            if answer.status == 201:
                ids[turn].add(json.loads(answer.body)["id"])
            else:
                failed.append((answer.status, answer.body[:200]))

    begin, cpu = time.monotonic(), scene.cpu_s()
    threads = [threading.Thread(target=creator) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, cpu = time.monotonic() - begin, scene.cpu_s() - cpu
    created = Study.objects.filter(name__startswith="created-")
    names = list(created.values_list("name", flat=True))
    made = Study.objects.count() - before
    lost, doubled = creations - len(set(names)), len(names) - len(set(names))
    changed = sum(len(one) != 1 for one in ids.values())
    say(f"\n{creations} studies requested at {clients} at once")
    say(
        f"p50 {at(times, 0.5):.0f} ms, p95 {at(times, 0.95):.0f} ms, {len(times) / seconds:.0f} "
        f"requests a second, {cpu * 1000 / len(times):.1f} CPU ms each"
    )
    if failed:
        say(f"refused: {failed[:3]}")
    promises.note(
        f"{creations} studies requested at {clients} at once: {made} made, {lost} lost, {doubled} "
        f"doubled, {changed} keys with another answer, {len(failed)} refused",
        kept=made == creations and not (lost or doubled or changed or failed),
    )
