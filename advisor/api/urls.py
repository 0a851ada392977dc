from __future__ import annotations

from django.urls import URLPattern, path, re_path
from django.views import View
from drf_spectacular.views import SpectacularAPIView

from advisor import ids  # noqa: F401  # registers <id:...>
from advisor.api import (
    comparison_views,
    config_views,
    device_views,
    gate_views,
    group_views,
    listed_views,
    recommendation_views,
    views,
)


def _at(route: str, view: type[View], name: str) -> URLPattern:
    return path(route, view.as_view(), name=name)


urlpatterns = [
    _at("studies/", views.StudyListView, "api-study-list"),
    _at("studies/<id:pk>/", views.StudyDetailView, "api-study-detail"),
    _at("studies/<id:pk>/ranking/", views.RankingView, "api-ranking"),
    _at("studies/<id:pk>/results/", views.ResultsView, "api-results"),
    _at("studies/<id:pk>/runs/", views.RunListView, "api-runs"),
    _at("studies/<id:pk>/extend/", views.ExtendView, "api-extend"),
    _at("studies/<id:pk>/pause/", views.PauseView, "api-pause"),
    _at("studies/<id:pk>/resume/", views.ResumeView, "api-resume"),
    _at("studies/<id:pk>/take-apart/", views.TakeApartView, "api-take-apart"),
    _at("studies/<id:pk>/conclude/", views.ConcludeView, "api-conclude"),
    _at("studies/<id:pk>/cancel/", views.CancelView, "api-cancel"),
    _at(
        "studies/<id:pk>/recommendation/",
        recommendation_views.RecommendationView,
        "api-recommendation",
    ),
    _at("studies/<id:pk>/recommendation/export/", recommendation_views.ExportView, "api-export"),
    _at("studies/<id:pk>/recommendation/my.cnf", recommendation_views.MyCnfView, "api-my-cnf"),
    _at("study-groups/", group_views.StudyGroupListView, "api-group-list"),
    _at("study-groups/<id:pk>/", group_views.StudyGroupDetailView, "api-group-detail"),
    _at("study-groups/<id:pk>/pause/", group_views.PauseGroupView, "api-group-pause"),
    _at("study-groups/<id:pk>/resume/", group_views.ResumeGroupView, "api-group-resume"),
    _at("study-groups/<id:pk>/cancel/", group_views.CancelGroupView, "api-group-cancel"),
    _at("gates/", gate_views.GateListView, "api-gate-list"),
    _at("gates/<id:pk>/", gate_views.GateDetailView, "api-gate-detail"),
    _at("gates/<id:pk>/junit.xml", gate_views.GateJunitView, "api-gate-junit"),
    _at("gates/<id:pk>/summary.md", gate_views.GateMarkdownView, "api-gate-markdown"),
    _at("studies/<id:pk>/events/", views.EventListView, "api-events"),
    _at("configs/translate/", config_views.TranslateConfigView, "api-config-translate"),
    _at("configs/diff/", config_views.DiffConfigsView, "api-config-diff"),
    _at("proposals/", config_views.ProposalsView, "api-proposals"),
    _at("search-space/", views.SearchSpaceView, "api-search-space"),
    _at("device-comparison/", comparison_views.DeviceComparisonView, "api-device-comparison"),
    _at("devices/", device_views.DeviceListView, "api-device-list"),
    _at("devices/<id:pk>/", device_views.DeviceDetailView, "api-device-detail"),
    _at("devices/<id:pk>/probes/", device_views.ProbeListView, "api-probe-list"),
    _at("probes/<id:pk>/", device_views.ProbeDetailView, "api-probe-detail"),
    _at("probes/<id:pk>/cancel/", device_views.CancelProbeView, "api-probe-cancel"),
    _at("configs/check/", config_views.CheckConfigView, "api-config-check"),
    _at("recommendations/", listed_views.RecommendationListView, "api-recommendation-list"),
    _at("schema/", SpectacularAPIView, "api-schema"),
    re_path(r"^(?P<rest>.*)$", views.UnknownAddressView.as_view(), name="api-unknown"),
]
