"""The web server: gunicorn with these settings, `gunicorn -c python:advisor.processes.web`.

Each connection has a greenlet of its own, so that clients that send or read slowly cost memory
only; a thread for each would soon be all there are.
"""

from __future__ import annotations

from typing import Any

from advisor.processes.garbage import collect_seldom, preload

wsgi_app = "advisor.wsgi"
worker_class = "gevent"
workers = 1
worker_connections = 1000
# Also how long the head of a request may take.
keepalive = 5
# A worker that does not come to itself for so long is replaced.
timeout = 120
graceful_timeout = 10
# Nobody steers it but the supervisor; the socket would be in the user's own home.
control_socket_disable = True
# What proxies say is advisor.access.proxies' business.
forwarded_allow_ips = ""


def on_starting(_: Any) -> None:
    """gunicorn's hook before its workers import the application."""
    collect_seldom()


def post_worker_init(worker: Any) -> None:
    """gunicorn's hook in a worker that has loaded the application."""
    # gunicorn itself reads this module before there are settings.
    from advisor.access.cpu_budget import BUDGET
    from advisor.api.waiting import WAITING
    from advisor.processes.attending import attend
    from advisor.processes.patience import wait_patiently

    wait_patiently()
    # Long polls end at once when the server is to stop.
    WAITING.stays_open = lambda: worker.alive
    BUDGET.processes = worker.cfg.workers
    attend()
    preload()
