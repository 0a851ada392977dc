"""A search that has measured many configs, as rows, for tests of what is shown of it."""

from __future__ import annotations

import math
import random
from datetime import timedelta

from django.utils import timezone

from advisor.tests import factories
from benchmarks.models import Config, Run
from tuning.configs.values import config_hash
from tuning.models import Candidate, Slot, SlotPurpose, Study, StudyState
from tuning.results.search import learn_knobs
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.strategy.search.space import Dimension, Space

MIB = 1024**2
SPACE = Space(
    (
        Dimension(
            "innodb_buffer_pool_size",
            "number",
            128 * MIB,
            4096 * MIB,
            is_log=True,
            step=MIB,
            default=str(128 * MIB),
            source="whether the data fits into memory",
        ),
        Dimension(
            "innodb_io_capacity",
            "number",
            100,
            20_000,
            is_log=True,
            default="10000",
            source="advice from 200 to 20000",
        ),
        Dimension(
            "innodb_flush_method",
            "choice",
            choices=("fsync", "O_DIRECT"),
            default="O_DIRECT",
            source="two sources",
        ),
        Dimension("innodb_lru_scan_depth", "number", 100, 4_000, is_log=True, default="1024"),
    ),
    {"innodb_page_cleaners": "4"},
)


def searching_study(configs: int = 24, *, aim: Aim | None = None) -> Study:
    """A search that screens: rounds of the baseline and five configs, all measured but the last.

    A larger buffer pool brings throughput and shorter response times, nothing else does.
    """
    study = factories.make_study(
        names=factories.NAMES[:1],
        blocks=0,
        state=StudyState.RUNNING,
        started_at=timezone.now() - timedelta(minutes=20),
        search=(aim or Aim()).as_json() | {"space": SPACE.as_json()},
        races=True,
        confirms=True,
        budget_minutes=45,
        template="search",
        name="Find the best config for this device",
    )
    baseline = study.candidates.get(is_baseline=True)
    for number in range(configs):
        if number % 5 == 0:
            _measured(queued_slot(study, baseline, number // 5 + 1), 0.0, 0.0)
        dice = random.Random(number)
        values = {one.name: dice.choice(one.levels) for one in SPACE.dimensions}
        pool = math.log(float(values["innodb_buffer_pool_size"]) / MIB / 128)
        gain = 0.15 * pool + dice.gauss(0, 0.02)
        found = _candidate(study, number, SPACE.knobs(values))
        slot = queued_slot(study, found, number // 5 + 1)
        _measured(slot, gain, -0.5 * gain + dice.gauss(0, 0.05))
    if configs:
        found = _candidate(study, configs, {"innodb_io_capacity": "300"})
        last = queued_slot(study, found, configs // 5 + 1)
        factories.begin(study, step="warming up")
        last.refresh_from_db()
        learn_knobs(StudyRows(study))
        study.refresh_from_db()
    return study


def queued_slot(
    study: Study, candidate: Candidate, block: int, purpose: SlotPurpose = SlotPurpose.SEARCH
) -> Slot:
    """A slot behind all others."""
    device, workload = study.devices.get(), study.workloads.get()
    run = Run.objects.create(
        host=study.host,
        device=device,
        server=study.server,
        workload=workload,
        config=candidate.config,
        seed=study.slots.count(),
    )
    return Slot.objects.create(
        study=study,
        candidate=candidate,
        device=device,
        workload=workload,
        block=block,
        purpose=purpose,
        order=study.slots.count() + 1,
        run=run,
    )


def _candidate(study: Study, number: int, knobs: dict[str, str]) -> Candidate:
    config, _ = Config.objects.get_or_create(hash=config_hash(knobs), defaults={"knobs": knobs})
    return Candidate.objects.create(
        study=study,
        name=f"search-{number + 1}",
        config=config,
        position=10 + number,
        found_by_search=True,
        source="differs from advisor in 2 settings; expected +3 to +19 % against the baseline",
    )


def _measured(slot: Slot, gain: float, slower: float) -> None:
    """End the run well, so many log units above the usual throughput and response time."""
    run = factories.finish(slot.run)
    Run.objects.filter(pk=run.pk).update(
        throughput=6000 * math.exp(gain),
        p95_ms=150 * math.exp(slower),
        server_path_length=4.1e7 * math.exp(-0.2 * gain),
    )
