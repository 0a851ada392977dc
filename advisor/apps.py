from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class AdvisorConfig(AppConfig):
    name = "advisor"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # The tasks need Celery's application. Not imported with the package: the web server reads its
        # settings in it before gevent has replaced `ssl`, which Celery imports.
        import_module("advisor.celery")
