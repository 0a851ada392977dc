"""What several readers share: browsers with the page of a study, programs that ask the API.

While a study is measured each browser asks for the new results within two seconds of the end of a
run, and for the charts too; once it has ended they never change. To read and judge hundreds of
runs takes a tenth of a second, of a processor that may be measuring; to compare devices over all
studies takes several.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final, TypeVar, cast

from django.db.models.functions import Now
from django.http import Http404

from benchmarks.ready_query import ANY, ReadyObjects
from tuning.comparison.comparable_runs import RunSet, run_sets
from tuning.comparison.device_comparison import (
    DeviceComparison,
    MeasuredRuns,
    compare,
    measured_runs,
)
from tuning.comparison.glance import comparison_glance
from tuning.models import Study
from tuning.results.related import know
from tuning.results.study_result import StudyResult, results_of
from tuning.studies.glance import Look, group_results_glances, results_glance
from tuning.studies.load_hosts import fetch_load_hosts

# One of 500 runs takes some megabytes.
_MAX_STUDIES = 8
# By the metrics, orders and filters that readers choose, and the charts of each.
_MAX_MADE = 12

Made = TypeVar("Made")


class Kept:
    """What was made last, each by a key that says what it was made of."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._known

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` made for this key, not long ago or now: to be read, not to be changed."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return cast("Made", found)

    def clear(self) -> None:
        """Keep none of it."""
        self._known.clear()


class SharedResult:
    """The result of a study at one moment, and what was made of it."""

    def __init__(self, result: StudyResult) -> None:
        self.result = result
        self._made = Kept(_MAX_MADE)

    def made(self, key: Hashable, make: Callable[[StudyResult], Made]) -> Made:
        """What `make` makes of the result, at most once for a key; never None."""
        return self._made.get(key, lambda: make(self.result))


class SharedComparisons:
    """The comparisons of devices at one moment, and what was made of them."""

    def __init__(self) -> None:
        self._made = Kept(_MAX_MADE)
        self._measured: tuple[str, MeasuredRuns] | None = None

    @cached_property
    def run_sets(self) -> list[RunSet]:
        """All of them, newest first."""
        return run_sets()

    def compare(self, run_set: RunSet, token: str) -> DeviceComparison:
        """As `device_comparison.compare` does; reads the runs of a run set at most once."""
        return self.made((run_set.key, token), lambda: compare(run_set, token, self._of(run_set)))

    def made(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` makes of them, at most once for a key; never None."""
        return self._made.get(key, make)

    def _of(self, run_set: RunSet) -> MeasuredRuns:
        # Of one run set only: years of runs are ten megabytes.
        if self._measured is None or self._measured[0] != run_set.key:
            self._measured = run_set.key, measured_runs(run_set)
        return self._measured[1]


_lock = threading.Lock()
_shared: OrderedDict[int, tuple[Hashable, SharedResult]] = OrderedDict()
_comparisons = Kept(1)
#: Of studies under way what moves with every step, by what was seen of them.
PROGRESS: Final = Kept(64)


def study_to_show(pk: int) -> Study:
    """The study with what pages and API say of it; raises Http404."""
    study = _studies_of("pk").first(pk)
    if study is None:
        raise Http404("No Study matches the given query.")
    know([study], "devices", "workloads")
    return study


def studies_to_show(group_id: int) -> list[Study]:
    """The same of the studies of a group, by the names of their hosts."""
    studies = _studies_of("group").all(group_id)
    know(studies, "devices", "workloads")
    return studies


@cache
def _studies_of(name: str) -> ReadyObjects[Study]:
    rows = Study.objects.filter(**{name: ANY}).select_related("server", "host", "created_by")
    return ReadyObjects(rows.annotate(now=Now()).order_by("host__name", "pk"))  # `study_progress`


def shared_result(study: Study, seen: Look | None = None) -> SharedResult:
    """That of all who ask before it changes; `study` comes with its host, devices, workloads.

    `seen`: a look at it just before, if there was one.
    """
    return _shared_of([study], {study.pk: results_glance(study.pk, seen)})[0]


def shared_results(group_id: int, studies: Sequence[Study]) -> list[SharedResult]:
    """The same of the studies of a group, in as many queries as of one."""
    return _shared_of(studies, group_results_glances(group_id))


def _shared_of(studies: Sequence[Study], glances: Mapping[int, str]) -> list[SharedResult]:
    fetch_load_hosts(studies)
    now = {one.pk: _made_of(one, glances.get(one.pk, "")) for one in studies}
    with _lock:
        found = {pk: _shared[pk][1] for pk in now if pk in _shared and _shared[pk][0] == now[pk]}
    new = [one for one in studies if one.pk not in found]
    read = results_of(new) if len(new) > 1 else [StudyResult(one) for one in new]
    found |= {result.study.pk: SharedResult(result) for result in read}
    with _lock:
        for pk, shared in found.items():
            _shared[pk] = now[pk], shared
            _shared.move_to_end(pk)
        while len(_shared) > _MAX_STUDIES:
            _shared.popitem(last=False)
    return [found[one.pk] for one in studies]


def shared_comparisons() -> SharedComparisons:
    """Those of all who ask before another run has ended."""
    return _comparisons.get(comparison_glance(), SharedComparisons)


def forget() -> None:
    """Everything; needed by whoever changes what is otherwise never changed, such as tests."""
    with _lock:
        _shared.clear()
    _comparisons.clear()
    PROGRESS.clear()


def _made_of(study: Study, glance: str) -> Hashable:
    """Differs whenever its results do, or the name of anything that they name.

    With what was read of the study itself: that may have been before it ended.
    """
    read = study.state, study.conclusions, study.concluded_at, study.name, study.host.name
    devices = [
        (one.pk, str(one), one.kind, one.model, one.block_device, one.file_system, one.retired_at)
        for one in study.devices.all()
    ]
    workloads = [(one.pk, str(one)) for one in study.workloads.all()]
    return glance, read, tuple(devices), tuple(workloads)
