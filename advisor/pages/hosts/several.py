"""Whether pages name hosts: only where there is more than one."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from benchmarks.models import Host


def several_hosts(request: HttpRequest) -> dict[str, object]:
    """A context processor; the database is asked only by a page that needs the answer."""
    return {"several_hosts": SimpleLazyObject(lambda: Host.objects.count() > 1)}
