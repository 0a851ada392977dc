"""The web server: gunicorn with these settings, `gunicorn -c python:advisor.processes.web`.

One process with several threads: what is counted or kept in memory exists once per installation.
A proxy in front of it keeps slow clients away from the threads (docs/explanation/security.md).
"""

from __future__ import annotations

import os
from typing import Any

wsgi_app = "advisor.wsgi"
worker_class = "gthread"
workers = 1
threads = 16
# A worker that does not report for so long is replaced.
timeout = 120
graceful_timeout = 10
# Nobody steers it but the supervisor; the socket would be in the user's own home.
control_socket_disable = True
# The module advisor.access.proxies judges the headers of proxies.
forwarded_allow_ips = ""

#: A measured server beside it gets the processors first.
_NICENESS = 19


def on_starting(_: Any) -> None:
    """Give way to what is measured. This is gunicorn's hook before it starts its worker."""
    os.nice(_NICENESS)


def post_worker_init(worker: Any) -> None:
    """Begin the work beside the answers. gunicorn calls this in a worker that is ready."""
    # gunicorn itself reads this module before there are settings.
    from advisor.processes.attending import attend

    attend()
