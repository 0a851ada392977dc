"""Django's own pages for accounts, open to the role administrator."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from advisor.access.callers import caller_of


class AccountsSite(AdminSite):
    site_header = site_title = "Accounts"
    index_title = "Accounts"

    def has_permission(self, request: HttpRequest) -> bool:
        return caller_of(request).is_administrator
