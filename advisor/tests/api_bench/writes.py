"""Clients that wait, that ask beside a run, and that create studies."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from advisor.tests.api_bench.asking import ask, at
from advisor.tests.api_bench.reads import Load, load
from advisor.tests.api_bench.report import Promises, say
from advisor.tests.api_bench.scene import Scene

_REPEATED: Final = 10


def waiting(
    scene: Scene, waiters: int, clients: int, pause_s: float, seconds: float, promises: Promises
) -> Load:
    """The reads of others while some wait for a study; whether these get their answer."""
    from advisor.tests import factories
    from tuning.models import Study, StudyState

    study = factories.make_study(state=StudyState.RUNNING)
    path = f"/api/v1/studies/{study.pk}/?wait=60"
    with ThreadPoolExecutor(waiters) as pool:
        tokens = [scene.tokens[turn % len(scene.tokens)] for turn in range(waiters)]
        asked = [pool.submit(ask, scene.port, token, path) for token in tokens]
        seen = load(scene, clients, pause_s, seconds)
        still = sum(not one.done() for one in asked)
        Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
        begin = time.perf_counter()
        good = sum(one.result().status == 200 for one in asked)
        took = time.perf_counter() - begin
    promises.note(
        f"{still} of {waiters} clients still waited for a study after {seconds:.0f} s, and {good} "
        f"were answered {took:.1f} s after its end",
        kept=good == still == waiters,
    )
    return seen


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
