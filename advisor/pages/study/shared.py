"""What several browsers with the page of one study share while it is measured.

Each asks for the new results within two seconds of the end of a run, and for the charts too. To
read and judge hundreds of runs takes a tenth of a second of a processor that is being measured.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from tuning.models import Study
from tuning.results.study_result import StudyResult
from tuning.studies.glance import results_glance

_MAX_STUDIES = 2
_MAX_LOOKS = 4


class SharedLooks:
    """What was worked out for the newest glances, for other browsers that show the same."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, dict[str, Any]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A copy of what `make` made for this key, not long ago or now."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
            while len(self._known) > _MAX_LOOKS:
                self._known.popitem(last=False)
        return dict(found)


class SharedResult:
    """The result of a study at one moment, and what was made of it, each by the choice that it
    shows: charts as JSON, and `looks`, what the page lays out.
    """

    def __init__(self, study: Study) -> None:
        self.result = StudyResult(study)
        self.looks = SharedLooks()
        self._charts: dict[str, bytes] = {}

    def charts(self, choice: str, make: Callable[[StudyResult], bytes]) -> bytes:
        """Those of a choice, made at most once."""
        if choice not in self._charts:
            self._charts[choice] = make(self.result)
        return self._charts[choice]


_lock = threading.Lock()
_shared: OrderedDict[int, tuple[str, SharedResult]] = OrderedDict()


def shared_result(study: Study) -> SharedResult:
    """That of all who ask before it changes; of a study that has ended one of the caller's own."""
    if study.is_finished:
        return SharedResult(study)
    now = results_glance(study.pk)
    with _lock:
        seen, shared = _shared.get(study.pk, ("", None))
        if shared is None or seen != now:
            shared = SharedResult(study)
            _shared[study.pk] = now, shared
        _shared.move_to_end(study.pk)
        while len(_shared) > _MAX_STUDIES:
            _shared.popitem(last=False)
    return shared
