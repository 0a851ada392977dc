"""How large a request's body may be, by what its head says of it."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest

from advisor.access.known import known_account
from advisor.access.rules import Rule

# Of somebody who has not logged in: a name and a password.
MAX_OF_ANYBODY = 16 * 1024
# Of a browser that was logged in before, at the log-in page: a form whose session has ended.
MAX_OF_KNOWN = 2 * 1024 * 1024


def check_size(request: HttpRequest, rule: Rule) -> None:
    """Files count too, which Django's own limit leaves out. A body of unknown size is not read.

    Raises RequestDataTooBig.
    """
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if rule.needs else MAX_OF_ANYBODY
    if rule.needs is None and size_of(request) > most and known_account(request):
        most = MAX_OF_KNOWN
    if size_of(request) > most:
        raise RequestDataTooBig(f"the body has more than {most} bytes")


def size_of(request: HttpRequest) -> int:
    """The bytes of the body by its head; 0 where that says nothing of it."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0
