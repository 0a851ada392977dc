from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccessConfig(AppConfig):
    name = "advisor.access"
    label = "access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from advisor.access.roles import make_groups

        post_migrate.connect(make_groups, dispatch_uid="advisor.access.groups")
