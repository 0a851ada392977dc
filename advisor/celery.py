"""The Celery application. Messages only wake a worker up; the rows are the truth."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")

app = Celery("advisor")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _watch_the_host() -> None:
    from advisor.worker import HostWatch

    app.steps["worker"].add(HostWatch)


_watch_the_host()
