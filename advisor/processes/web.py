"""The web server: gunicorn with these settings, `gunicorn -c python:advisor.processes.web`.

Each connection has a greenlet of its own, so that clients that send or read slowly cost memory
only; a thread for each would soon be all there are.
"""

from __future__ import annotations

wsgi_app = "advisor.wsgi"
worker_class = "gevent"
workers = 1
worker_connections = 1000
# Also how long the head of a request may take.
keepalive = 5
# A worker that does not come to itself for so long is replaced. SQLite may wait for 30 s.
timeout = 120
graceful_timeout = 10
# What proxies say is advisor.access.proxies' business.
forwarded_allow_ips = ""
