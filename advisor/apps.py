from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class AdvisorConfig(AppConfig):
    name = "advisor"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("advisor.celery")  # the tasks need its application
