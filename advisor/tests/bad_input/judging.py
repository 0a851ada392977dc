"""One bad request, and whether it was refused as a user must be able to expect."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.apps import apps
from django.db import connection

#: CPU seconds of this process until a request is refused: what others do at the time counts not.
MAX_CPU_S = 1.0
#: Characters of an answer.
MAX_TEXT = 200_000
_SHOWN = 160


@dataclass(frozen=True)
class Said:
    """What came back: the text that a user sees, and whether it says that nothing was done.

    `status` is that of HTTP or of a process, or the code of an error.
    """

    text: str
    is_refusal: bool
    status: int | str


@dataclass(frozen=True)
class Case:
    """A bad request. `names`: one of these must be in the answer, which says what was wrong; and
    so must be all of `places`.
    """

    what: str
    names: tuple[str, ...]
    send: Callable[[], Said]
    places: tuple[str, ...] = ()


@dataclass
class Tally:
    """What became of the requests of one kind."""

    number: int = 0
    slowest_s: float = 0.0
    slowest: str = ""

    def __str__(self) -> str:
        slowest = f"{self.slowest_s * 1000:.0f} ms ({self.slowest[:_SHOWN]})"
        return f"{self.number} requests, slowest: {slowest}"


def judge_all(cases: Iterable[Case]) -> tuple[Tally, list[str]]:
    """The tally, and what is wrong with each request that was not refused as it should be."""
    tally, faults = Tally(), []
    first, before, written = _contents(), rows_by_table(), _rows_written()
    for case in cases:
        began = time.thread_time()
        try:
            said = case.send()
        except Exception as error:
            faults.append(f"{case.what}: raised {error!r}"[: 4 * _SHOWN])
            before, written = rows_by_table(), _rows_written()
            continue
        took = time.thread_time() - began
        tally.number += 1
        if took > tally.slowest_s:
            tally.slowest_s, tally.slowest = took, case.what
        is_same = written is not None and written == _rows_written()
        after = before if is_same else rows_by_table()
        stored = [name for name in after if after[name] != before[name]]
        faults += [f"{case.what}: {why}" for why in _faults(case, said, took, stored)]
        before, written = after, _rows_written()
    if not faults:  # what was added has been found already, and with whose request
        last = _contents()
        changed = {name for name in last if last[name] != first[name]}
        faults += [f"rows of {name} were changed" for name in sorted(changed)]
    return tally, faults


def _faults(case: Case, said: Said, took: float, stored: list[str]) -> Iterable[str]:
    shown = " ".join(said.text.split())[:_SHOWN]
    if not said.is_refusal:
        yield f"was not refused ({said.status}): {shown}"
    if not any(name in said.text for name in case.names):
        yield f"the answer ({said.status}) names none of {case.names}: {shown}"
    if missing := [place for place in case.places if place not in said.text]:
        yield f"the answer ({said.status}) does not name {missing}: {shown}"
    if "Traceback" in said.text:
        yield f"the answer has a traceback: {shown}"
    if len(said.text) > MAX_TEXT:
        yield f"the answer has {len(said.text):,} characters"
    if took > MAX_CPU_S:
        yield f"took {took:.2f} s of CPU time"
    if stored:
        yield f"changed the number of rows of {', '.join(stored)}"


def rows_by_table() -> dict[str, int]:
    """How many rows each table has, but those of sessions."""
    counts = " UNION ALL ".join(f"SELECT '{name}', COUNT(*) FROM {name}" for name in _tables())
    with connection.cursor() as cursor:
        cursor.execute(counts)
        return dict(cursor.fetchall())


def _rows_written() -> int | None:
    """How many rows were ever added, changed and deleted, also in vain; None where that is not
    known. To ask SQLite costs nothing, and as long as it is the same, so are the tables.
    """
    if connection.vendor != "sqlite":
        return None
    written: int = connection.connection.total_changes
    return written


def _contents() -> dict[str, list[str]]:
    """The rows of each judged table, as text."""
    found = {}
    with connection.cursor() as cursor:
        for name in _tables():
            cursor.execute(f"SELECT * FROM {name}")
            found[name] = sorted(map(repr, cursor.fetchall()))
    return found


_UNJUDGED = {"django_session", "tuning_storeddocument"}


def _tables() -> list[str]:
    """All but sessions, and documents, which are stored when they are first read."""
    models = apps.get_models(include_auto_created=True)
    return sorted({model._meta.db_table for model in models} - _UNJUDGED)
