"""Sees studies and runs come and end, by the monotonic clock, and which results were kept.

And has pages open meanwhile.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bench.faults.scene import Scene

_EVERY_S = 0.5
_VISITS_EVERY_S = 2.0
_PAGES = ("/", "/studies/", "/hosts/", "/devices/")
_STUDIES = """
select study.id, study.name, study.state, study.reason, study.paused_at, study.finished_at,
       host.name as host
from tuning_study study join benchmarks_host host on host.id = study.host_id order by study.id
"""
_RUNS = """
select run.id, run.state, host.name as host from benchmarks_run run
join benchmarks_host host on host.id = run.host_id where run.state <> 'queued' order by run.id
"""


@dataclass
class Seen:
    """When a run was first seen to be claimed, and first to have ended, each to half a second."""

    host: str
    began: float
    ended: float | None = None


@dataclass
class Watch:
    """What a bystander sees of the fleet; `kept` are runs whose result was on a host's disk."""

    scene: Scene
    studies: list[dict[str, Any]] = field(default_factory=list)
    runs: dict[int, Seen] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    is_fresh: bool = False
    _looked: float = 0.0

    def look(self) -> bool:
        """Whether there is something new to be seen."""
        now = time.monotonic()
        if now - self._looked < _EVERY_S:
            return False
        self._looked = now
        studies, runs = self.scene.rows(_STUDIES), self.scene.rows(_RUNS)
        self.is_fresh = studies is not None and runs is not None
        if studies is None or runs is None:
            return False
        self.studies = studies
        for run in runs:
            seen = self.runs.setdefault(run["id"], Seen(run["host"], now))
            if run["state"] != "running" and seen.ended is None:
                seen.ended = now
        return True

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Note meanwhile which results are kept on a host's disk, before they are stored, and open
        one page after the other.
        """
        self.scene.visit(_PAGES[0])  # the log-in, while everything is there
        ended = threading.Event()
        with ThreadPoolExecutor(2) as pool:
            going = [pool.submit(work, ended) for work in (self._note, self._visit)]
            try:
                yield
            finally:
                ended.set()
        for one in going:
            one.result()

    def _note(self, ended: threading.Event) -> None:
        while not ended.wait(0.05):
            for host in self.scene.asks:
                for path in self.scene.notes(host):
                    try:
                        note = json.loads(path.read_text())
                    except (OSError, ValueError):  # it was stored meanwhile
                        continue
                    if note["ending"].get("state") == "ok":
                        self.kept.add(note["row_id"])

    def _visit(self, ended: threading.Event) -> None:
        for number in count():
            studies = self.studies[-2:]
            pages = [*_PAGES, *(f"/studies/{study['id']}/" for study in studies)]
            self.scene.visit(pages[number % len(pages)])
            if ended.wait(_VISITS_EVERY_S):
                return
