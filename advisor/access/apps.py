from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate


class AccessConfig(AppConfig):
    default = True
    name = "advisor.access"
    label = "access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from advisor.access.passwords import note_demand
        from advisor.access.roles import make_groups

        user_logged_in.connect(note_demand, dispatch_uid="advisor.access.passwords")
        post_migrate.connect(make_groups, sender=self, dispatch_uid="advisor.access.groups")


class AccountsAdminConfig(admin_apps.AdminConfig):
    """Django's admin, for administrators as the rules have them."""

    default = False
    default_site = "advisor.access.site.AccountsSite"
