"""Faults one after the other, in an order that comes from the seed, until there were enough."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from bench.faults.faults import ALL, CENTRE, Fault
from bench.faults.scene import Scene
from bench.faults.watch import Watch

_TICK_S = 0.2
_ASK_AGAIN_S = 3.0
_CENTRE_BACK_S = 60.0


@dataclass
class Strike:
    """A fault that came to be, by the monotonic clock."""

    fault: Fault
    target: str
    began: float

    def hits(self, host: str) -> bool:
        return self.target in (host, CENTRE, ALL)


@dataclass
class Storm:
    """Lets faults begin `mean_s` apart on average, whether or not earlier ones still last.

    They come in rounds, of every kind one. Of a round always the first comes whose moment is there
    on one of the hosts, so that nothing waits for a server to be killed while the worker is away.
    When none can come for `patience_s`, those of the next round may come as well.
    """

    scene: Scene
    watch: Watch
    kinds: list[Fault]
    mean_s: float
    patience_s: float = 4.0
    quiet_end_s: float = 600.0
    strikes: list[Strike] = field(default_factory=list)
    _lasting: list[Strike] = field(default_factory=list)
    _round: list[Fault] = field(default_factory=list)
    _rounds: int = 0
    _asked: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def rage(self, number: int, *, studies: int = 0, minutes: float = inf) -> None:
        """Until that many faults have begun, or for so long, and each host was asked for so many
        studies; then until all have ended.
        """
        next_s = time.monotonic()
        ends = next_s + 60 * minutes
        while len(self.strikes) < number and time.monotonic() < ends:
            self._look_after(asks=True)
            if time.monotonic() < next_s:
                continue
            if self._strike():
                next_s = time.monotonic() + self.scene.random.expovariate(1 / self.mean_s)
            elif time.monotonic() > next_s + self.patience_s:
                self._add_round()
                next_s = time.monotonic()
        deadline = time.monotonic() + self.quiet_end_s
        while any(n < studies for n in self._asked_of().values()):
            assert time.monotonic() < deadline, f"no study: {self.scene.refusals}"
            self._look_after(asks=True)
        while not self._is_over() and time.monotonic() < deadline:
            self._look_after(asks=False)
        assert self._is_over(), (
            f"the studies do not end: {self.watch.studies}\n{self.scene.last_words()}"
        )

    def calm(self) -> None:
        """End what lasts, and have the centre answer: for a storm that is not to go on."""
        self._end(self._lasting)
        deadline = time.monotonic() + _CENTRE_BACK_S
        self.watch.is_fresh = False
        while not self.watch.is_fresh and time.monotonic() < deadline:
            self._look_after(asks=False)

    def _strike(self) -> bool:
        """Have the first of the round begin whose moment has come; False if there is none."""
        if not self._round:
            self._add_round()
        hosts = [*self.scene.asks]
        for fault in self._round:
            self.scene.random.shuffle(hosts)
            for target in hosts if fault.where == "host" else [fault.where]:
                began = time.monotonic()
                if self._is_lasting(fault, target) or not fault.begin(self.scene, target):
                    continue
                self._round.remove(fault)
                self._note(Strike(fault, target, began))
                return True
        return False

    def _note(self, strike: Strike) -> None:
        self.strikes.append(strike)
        if strike.fault.end:
            self._lasting.append(strike)
        ended = sum(1 for study in self.watch.studies if study["finished_at"])
        minutes = (strike.began - self.began) / 60
        print(
            f"{minutes:5.1f} min  {len(self.strikes):4}  {strike.fault.name}, {strike.target}"
            f"  ({ended} of {len(self.watch.studies)} studies have ended)",
            flush=True,
        )

    def _asked_of(self) -> Counter[str]:
        """How many studies of each host there are."""
        counted = Counter(dict.fromkeys(self.scene.asks, 0))
        counted.update(study["host"] for study in self.watch.studies)
        return counted

    def _add_round(self) -> None:
        """Every kind comes as often as the others, in ever another order, but those half as often
        that hold up everything for long.
        """
        more = [one for one in self.kinds if not (one.is_long and self._rounds % 2)]
        self.scene.random.shuffle(more)
        self._round += more
        self._rounds += 1

    def _is_lasting(self, fault: Fault, target: str) -> bool:
        return any(one.fault is fault and one.target == target for one in self._lasting)

    def _is_over(self) -> bool:
        ended = all(study["finished_at"] for study in self.watch.studies)
        return not self._lasting and self.watch.is_fresh and ended

    def _look_after(self, *, asks: bool) -> None:
        """What goes on beside the faults: their ends, restarts, requests and what is seen."""
        time.sleep(_TICK_S)
        now = time.monotonic()
        self._end([one for one in self._lasting if now - one.began >= one.fault.seconds])
        self.scene.start_what_is_gone()
        if not self.watch.look():
            return
        for study in self.watch.studies:
            host, waits = study["host"], study["paused_at"] and not study["finished_at"]
            if waits and not self.scene.disks[host].is_filled and self._may_ask(host):
                self.scene.resume(study["id"])
        busy = {study["host"] for study in self.watch.studies if not study["finished_at"]}
        for host in self.scene.asks:
            if asks and host not in busy and self._may_ask(host):
                self.scene.request_study(host)

    def _end(self, over: Iterable[Strike]) -> None:
        for strike in [*over]:
            assert strike.fault.end
            strike.fault.end(self.scene, strike.target)
            self._lasting.remove(strike)

    def _may_ask(self, host: str) -> bool:
        """Return whether the last request had time to show."""
        now = time.monotonic()
        if now - self._asked.get(host, 0.0) < _ASK_AGAIN_S:
            return False
        self._asked[host] = now
        return True
