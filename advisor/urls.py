from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from advisor.api.api import api
from advisor.monitoring import health
from advisor.monitoring.metrics import metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("advisor.pages.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/", api.urls),
    # One log-in for all: with the same limits.
    path(
        "admin/login/",
        login_not_required(RedirectView.as_view(pattern_name="login", query_string=True)),
        name="admin-login",
    ),
    # Accounts only: measured rows are not for editing, so no model of ours is registered.
    path("admin/", admin.site.urls),
]
handler400 = "advisor.pages.errors.bad_request"
handler404 = "advisor.pages.errors.not_found"
handler500 = "advisor.pages.errors.server_error"
