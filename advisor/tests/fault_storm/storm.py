"""Faults one after the other, in an order that comes from the seed, until there were enough."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from advisor.tests.fault_storm.faults import ALL, CENTRE, Fault
from advisor.tests.fault_storm.scene import Scene
from advisor.tests.fault_storm.watch import Watch

_TICK_S = 0.2
_QUIET_END_S = 600.0
_ASK_AGAIN_S = 10.0


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
    """Its faults, `mean_s` apart on average, besides those that still last.

    A fault whose moment does not come for `patience_s` gives way to the next one.
    """

    scene: Scene
    watch: Watch
    kinds: list[Fault]
    mean_s: float
    patience_s: float = 25.0
    strikes: list[Strike] = field(default_factory=list)
    _lasting: list[Strike] = field(default_factory=list)
    _deck: list[Fault] = field(default_factory=list)
    _rounds: int = 0
    _asked: dict[str, float] = field(default_factory=dict)

    def rage(self, number: int, *, studies: int = 0) -> None:
        """Until that many faults have begun and each host was asked for so many studies; then
        until all have ended.
        """
        random = self.scene.random
        next_s, fault, target, patience = time.monotonic(), None, "", 0.0
        while len(self.strikes) < number:
            self._look_after(asks=True)
            if time.monotonic() < next_s:
                continue
            if fault is None:
                fault = self._draw()
                target = (
                    random.choice([*self.scene.asks]) if fault.where == "host" else fault.where
                )
                patience = time.monotonic() + self.patience_s
            began = time.monotonic()
            if self._is_lasting(fault, target) or not fault.begin(self.scene, target):
                if time.monotonic() > patience:
                    fault = None
                continue
            strike = Strike(fault, target, began)
            self.strikes.append(strike)
            if fault.end:
                self._lasting.append(strike)
            print(f"{len(self.strikes):4}  {fault.name}, {target}", flush=True)
            next_s, fault = time.monotonic() + random.expovariate(1 / self.mean_s), None
        deadline = time.monotonic() + _QUIET_END_S
        while any(n < studies for n in self._asked_of().values()):
            assert time.monotonic() < deadline, f"no study: {self.scene.refusals}"
            self._look_after(asks=True)
        while not self._is_over() and time.monotonic() < deadline:
            self._look_after(asks=False)
        assert self._is_over(), f"the studies do not end: {self.watch.studies}"

    def _asked_of(self) -> Counter[str]:
        """How many studies of each host there are."""
        counted = Counter(dict.fromkeys(self.scene.asks, 0))
        counted.update(study["host"] for study in self.watch.studies)
        return counted

    def _draw(self) -> Fault:
        """Every kind comes as often as the others, in ever another order, but those half as often
        that hold up everything for long.
        """
        if not self._deck:
            self._deck = [one for one in self.kinds if not (one.is_long and self._rounds % 2)]
            self.scene.random.shuffle(self._deck)
            self._rounds += 1
        return self._deck.pop()

    def _is_lasting(self, fault: Fault, target: str) -> bool:
        return any(one.fault is fault and one.target == target for one in self._lasting)

    def _is_over(self) -> bool:
        ended = all(study["finished_at"] for study in self.watch.studies)
        return not self._lasting and self.watch.is_fresh and ended

    def _look_after(self, *, asks: bool) -> None:
        """What goes on beside the faults: their ends, restarts, requests and what is seen."""
        time.sleep(_TICK_S)
        for strike in [*self._lasting]:
            if time.monotonic() - strike.began >= strike.fault.seconds:
                assert strike.fault.end
                strike.fault.end(self.scene, strike.target)
                self._lasting.remove(strike)
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

    def _may_ask(self, host: str) -> bool:
        """Not again before the last request can show."""
        now = time.monotonic()
        if now - self._asked.get(host, 0.0) < _ASK_AGAIN_S:
            return False
        self._asked[host] = now
        return True
