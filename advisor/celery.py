"""The Celery application. Messages only wake a worker up; the rows are the truth."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from kombu.transport.redis import Channel, QoS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")

app = Celery("advisor")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


class _NothingIsKept(QoS):
    """No message has to be acknowledged: the row says what to do, and messages are sent again.

    kombu counts a message whose acknowledgement did not reach Redis as not done with for ever,
    so that the worker takes no other. How many it takes at once is Celery's to limit
    (CELERY_WORKER_DISABLE_PREFETCH).
    """

    restore_at_shutdown = False

    def can_consume(self) -> bool:
        return True

    def append(self, message: Any, delivery_tag: str) -> None:
        pass

    def ack(self, delivery_tag: str) -> None:
        pass

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        pass

    def restore_visible(self, start: int = 0, num: int = 10, interval: int = 10) -> None:
        pass


Channel.QoS = _NothingIsKept


def _watch_the_host() -> None:
    from advisor.worker import HostWatch

    app.steps["worker"].add(HostWatch)


_watch_the_host()
