"""Devices whose baseline completes less than it did.

Months of runs are too much for a page to look at: the host of a study does it when the study
ends, and once a day.
"""

from __future__ import annotations

from datetime import timedelta
from math import exp

from django.db.models import Avg, Max, QuerySet
from django.db.models.functions import Ln, Now
from django.utils import timezone

from benchmarks.models import Host
from tuning.models import Slot, Slowdown, Study
from tuning.results.baseline_runs import line_token, of_newest_studies, runs_of_baselines
from tuning.statistics.change_points import levels

#: For so long a change is news.
LATELY = timedelta(days=30)
_LONG = (
    *("device__identity", "device__log_identity"),
    *("device__host__inventory", "device__host__datasets"),
)
_LINE = ("device", "candidate__config", "workload", "run__server__flavour")


def learn_slowdowns(study: Study) -> None:
    """Look again at each baseline that the study measured, and store where its level fell last."""
    _learn(runs_of_baselines().filter(study=study))


def learn_lately(host: Host) -> None:
    """The same of what the host measured lately: no study may have ended since an older version,
    which stored none of it, and the database may have been away when one did.
    """
    since = timezone.now() - LATELY
    _learn(runs_of_baselines().filter(run__host=host, run__finished_at__gte=since))


def _learn(measured: QuerySet[Slot]) -> None:
    for line in measured.order_by().values(*_LINE).distinct():
        device, *names = line.values()
        key = {"device_id": device, "line": line_token(*names)}
        if found := _last_fall(runs_of_baselines().filter(**line)):
            Slowdown.objects.update_or_create(**key, defaults=found)
        else:
            Slowdown.objects.filter(**key).delete()


def slowdowns() -> list[Slowdown]:
    """Those of the last 30 days on devices in use, newest first: one for each device at most."""
    lately = Slowdown.objects.filter(
        since__gte=Now() - LATELY, device__retired_at=None, device__host__retired_at=None
    )
    newest: dict[int, Slowdown] = {}
    for one in lately.select_related("device__host").defer(*_LONG).order_by("-since"):
        newest.setdefault(one.device_id, one)
    return list(newest.values())


def _last_fall(runs: QuerySet[Slot]) -> dict[str, object] | None:
    """The columns of a Slowdown; None where the last change was not for the worse.

    As the page of the history has it: only the series that goes on is looked at, with the
    geometric mean of each study's runs.
    """
    points = list(
        of_newest_studies(runs)
        .values_list("run__comparability_key", "study")
        .annotate(at=Max("run__finished_at"), mean=Avg(Ln("run__tpmP")))
        .order_by("at", "study_id")
    )
    series = [(at, exp(mean)) for key, _, at, mean in points if key == points[-1][0]]
    last = levels([mean for _, mean in series])[-1]
    if last.ratio >= 1:
        return None
    low, high = (last.interval.low, last.interval.high) if last.interval else (None, None)
    return {"since": series[last.begin][0], "ratio": last.ratio, "low": low, "high": high}
