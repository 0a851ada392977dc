"""Whether pages name hosts: only where there is more than one."""

from __future__ import annotations

from functools import cache

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from benchmarks.models import Host
from benchmarks.ready_query import ReadyQuery


def several_hosts(request: HttpRequest) -> dict[str, object]:
    """A context processor; the database is asked only by a page that needs the answer."""
    return {"several_hosts": SimpleLazyObject(lambda: len(_two_hosts().rows()) > 1)}


@cache
def _two_hosts() -> ReadyQuery:
    return ReadyQuery.of(Host.objects.order_by().values_list("pk")[:2])
