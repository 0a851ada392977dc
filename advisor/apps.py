from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class AdvisorConfig(AppConfig):
    name = "advisor"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # The tasks need Celery's application. It is not imported with the package, in which
        # the web server reads its settings before gevent has replaced `ssl`: Celery imports that.
        import_module("advisor.celery")
        if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
            import_module("advisor.processes.postgres_times").read_times_fast()
