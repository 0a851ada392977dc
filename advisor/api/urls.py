from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from advisor import ids  # noqa: F401  # registers <id:...>
from advisor.api import (
    bundle_views,
    comparison_views,
    config_comparison_views,
    config_views,
    dataset_views,
    device_views,
    gate_views,
    group_views,
    history_views,
    host_views,
    listed_views,
    recommendation_views,
    run_views,
    template_views,
    views,
    webhook_views,
)

# For browsers, so a visitor without a session is sent to the login page; the split view has its
# script in a separate file, as the content security policy requires.
docs = login_required(
    SpectacularSwaggerSplitView.as_view(url_name="api-schema", template_name="api/docs.html")
)

urlpatterns = [
    path("studies/", views.StudyListView.as_view(), name="api-study-list"),
    path("studies/<id:pk>/", views.StudyDetailView.as_view(), name="api-study-detail"),
    path("studies/<id:pk>/ranking/", views.RankingView.as_view(), name="api-ranking"),
    path("studies/<id:pk>/results/", views.ResultsView.as_view(), name="api-results"),
    path("studies/<id:pk>/runs/", views.RunListView.as_view(), name="api-runs"),
    path("studies/<id:pk>/extend/", views.ExtendView.as_view(), name="api-extend"),
    path("studies/<id:pk>/pause/", views.PauseView.as_view(), name="api-pause"),
    path("studies/<id:pk>/resume/", views.ResumeView.as_view(), name="api-resume"),
    path("studies/<id:pk>/take-apart/", views.TakeApartView.as_view(), name="api-take-apart"),
    path("studies/<id:pk>/conclude/", views.ConcludeView.as_view(), name="api-conclude"),
    path("studies/<id:pk>/cancel/", views.CancelView.as_view(), name="api-cancel"),
    path(
        "studies/<id:pk>/recommendation/",
        recommendation_views.RecommendationView.as_view(),
        name="api-recommendation",
    ),
    path(
        "studies/<id:pk>/recommendation/export/",
        recommendation_views.ExportView.as_view(),
        name="api-export",
    ),
    path(
        "studies/<id:pk>/recommendation/my.cnf",
        recommendation_views.MyCnfView.as_view(),
        name="api-my-cnf",
    ),
    path("studies/<id:pk>/bundle/", bundle_views.BundleView.as_view(), name="api-bundle"),
    path("bundles/", bundle_views.BundleListView.as_view(), name="api-bundle-list"),
    path("study-groups/", group_views.StudyGroupListView.as_view(), name="api-group-list"),
    path(
        "study-groups/<id:pk>/",
        group_views.StudyGroupDetailView.as_view(),
        name="api-group-detail",
    ),
    path(
        "study-groups/<id:pk>/pause/",
        group_views.PauseGroupView.as_view(),
        name="api-group-pause",
    ),
    path(
        "study-groups/<id:pk>/resume/",
        group_views.ResumeGroupView.as_view(),
        name="api-group-resume",
    ),
    path(
        "study-groups/<id:pk>/cancel/",
        group_views.CancelGroupView.as_view(),
        name="api-group-cancel",
    ),
    path("gates/", gate_views.GateListView.as_view(), name="api-gate-list"),
    path("gates/<id:pk>/", gate_views.GateDetailView.as_view(), name="api-gate-detail"),
    path("gates/<id:pk>/history/", gate_views.GateHistoryView.as_view(), name="api-gate-history"),
    path("gates/<id:pk>/junit.xml", gate_views.GateJunitView.as_view(), name="api-gate-junit"),
    path(
        "gates/<id:pk>/summary.md",
        gate_views.GateMarkdownView.as_view(),
        name="api-gate-markdown",
    ),
    path("gates/<id:pk>/badge.svg", gate_views.GateBadgeView.as_view(), name="api-gate-badge"),
    path("studies/<id:pk>/events/", views.EventListView.as_view(), name="api-events"),
    path(
        "config-comparison/",
        config_comparison_views.ConfigComparisonView.as_view(),
        name="api-config-comparison",
    ),
    path(
        "configs/translate/",
        config_views.TranslateConfigView.as_view(),
        name="api-config-translate",
    ),
    path("configs/diff/", config_views.DiffConfigsView.as_view(), name="api-config-diff"),
    path("proposals/", config_views.ProposalsView.as_view(), name="api-proposals"),
    path("search-space/", views.SearchSpaceView.as_view(), name="api-search-space"),
    path("templates/", template_views.TemplateListView.as_view(), name="api-templates"),
    path("hosts/", host_views.HostListView.as_view(), name="api-host-list"),
    path("hosts/<id:pk>/", host_views.HostDetailView.as_view(), name="api-host-detail"),
    path("hosts/<id:pk>/inspect/", host_views.InspectView.as_view(), name="api-host-inspect"),
    path(
        "hosts/<id:pk>/datasets/",
        dataset_views.DatasetListView.as_view(),
        name="api-host-datasets",
    ),
    path(
        "hosts/<id:pk>/datasets/delete/",
        dataset_views.DeleteDatasetView.as_view(),
        name="api-dataset-delete",
    ),
    path(
        "hosts/<id:pk>/datasets/prune/",
        dataset_views.PruneDatasetsView.as_view(),
        name="api-dataset-prune",
    ),
    path(
        "inspections/<id:pk>/",
        host_views.InspectionDetailView.as_view(),
        name="api-inspection-detail",
    ),
    path("hosts/<id:pk>/drain/", host_views.DrainView.as_view(), name="api-host-drain"),
    path("hosts/<id:pk>/undrain/", host_views.UndrainView.as_view(), name="api-host-undrain"),
    path("hosts/<id:pk>/retire/", host_views.RetireView.as_view(), name="api-host-retire"),
    path("hosts/<id:pk>/unretire/", host_views.UnretireView.as_view(), name="api-host-unretire"),
    path("hosts/<id:pk>/rename/", host_views.RenameView.as_view(), name="api-host-rename"),
    path(
        "device-comparison/",
        comparison_views.DeviceComparisonView.as_view(),
        name="api-device-comparison",
    ),
    path("devices/", device_views.DeviceListView.as_view(), name="api-device-list"),
    path("devices/<id:pk>/", device_views.DeviceDetailView.as_view(), name="api-device-detail"),
    path(
        "devices/<id:pk>/baseline-history/",
        history_views.DeviceHistoryView.as_view(),
        name="api-device-history",
    ),
    path("devices/<id:pk>/probes/", device_views.ProbeListView.as_view(), name="api-probe-list"),
    path("probes/<id:pk>/", device_views.ProbeDetailView.as_view(), name="api-probe-detail"),
    path(
        "probes/<id:pk>/cancel/", device_views.CancelProbeView.as_view(), name="api-probe-cancel"
    ),
    path(
        "emulation-profiles/",
        device_views.EmulationProfileListView.as_view(),
        name="api-emulation-profiles",
    ),
    path("configs/check/", config_views.CheckConfigView.as_view(), name="api-config-check"),
    path("runs/", run_views.AllRunsView.as_view(), name="api-run-list"),
    path("runs/<id:pk>/", run_views.RunDetailView.as_view(), name="api-run-detail"),
    path("runs/<id:pk>/series/", run_views.RunSeriesView.as_view(), name="api-run-series"),
    path("runs/<id:pk>/log/", run_views.RunLogView.as_view(), name="api-run-log"),
    path("servers/", listed_views.ServerListView.as_view(), name="api-server-list"),
    path("configs/<hash:digest>/", listed_views.ConfigView.as_view(), name="api-config"),
    path(
        "recommendations/",
        listed_views.RecommendationListView.as_view(),
        name="api-recommendation-list",
    ),
    path("published-figures/", listed_views.PublishedView.as_view(), name="api-published"),
    path("webhooks/", webhook_views.WebhookListView.as_view(), name="api-webhook-list"),
    path(
        "webhooks/<id:pk>/",
        webhook_views.WebhookDetailView.as_view(),
        name="api-webhook-detail",
    ),
    path(
        "webhooks/<id:pk>/test/",
        webhook_views.WebhookTestView.as_view(),
        name="api-webhook-test",
    ),
    path(
        "webhooks/<id:pk>/deliveries/",
        webhook_views.DeliveryListView.as_view(),
        name="api-webhook-deliveries",
    ),
    path("version/", listed_views.VersionView.as_view(), name="api-version"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", docs, name="api-docs"),
    re_path(r"^(?P<rest>.*)$", views.UnknownAddressView.as_view(), name="api-unknown"),
]
