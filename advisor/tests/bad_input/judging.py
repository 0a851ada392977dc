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


def judge_all(cases: Iterable[Case]) -> tuple[int, list[str]]:
    """Return the number of requests, and what is wrong with each that was not refused well."""
    number, faults, before = 0, [], contents()
    for case in cases:
        number += 1
        began = time.thread_time()
        try:
            said = case.send()
        except Exception as error:
            faults.append(f"{case.what}: raised {error!r}"[: 4 * _SHOWN])
            continue
        faults += [f"{case.what}: {why}" for why in _faults(case, said)]
        if (took := time.thread_time() - began) > MAX_CPU_S:
            faults.append(f"{case.what}: took {took:.2f} s of CPU time")
    after = contents()
    faults += [f"rows of {name} were written" for name in after if after[name] != before[name]]
    return number, faults


def _faults(case: Case, said: Said) -> Iterable[str]:
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


def contents() -> dict[str, list[str]]:
    """The rows of each table, as text, but those of sessions and of documents, which are stored
    when they are first read.
    """
    models = apps.get_models(include_auto_created=True)
    tables = {model._meta.db_table for model in models}
    found = {}
    with connection.cursor() as cursor:
        for name in sorted(tables - {"django_session", "tuning_storeddocument"}):
            cursor.execute(f"SELECT * FROM {name}")
            found[name] = sorted(map(repr, cursor.fetchall()))
    return found
