"""Shows: web pages, REST API, charts and commands."""

from __future__ import annotations

from advisor.celery import app as celery_app

__all__ = ["celery_app"]
