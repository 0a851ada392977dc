from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("advisor.pages.urls")),
    path("api/v1/", include("advisor.api.urls")),
    # Accounts only: measured rows are not for editing, so no model of ours is registered.
    path("admin/", admin.site.urls),
]
handler400 = "advisor.pages.errors.bad_request"
handler404 = "advisor.pages.errors.not_found"
handler500 = "advisor.pages.errors.server_error"
