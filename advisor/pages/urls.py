from __future__ import annotations

from django.contrib.auth import views as auth
from django.urls import path

from advisor.pages.account import views as account
from advisor.pages.actions import action_urls
from advisor.pages.compare import views as compare
from advisor.pages.configs import check as check
from advisor.pages.configs import detail as config
from advisor.pages.devices import views as devices
from advisor.pages.export import views as exports
from advisor.pages.gates import views as gates
from advisor.pages.groups import views as groups
from advisor.pages.help import views as help_pages
from advisor.pages.home import views as home
from advisor.pages.hosts import views as hosts
from advisor.pages.new_study import views as new_study
from advisor.pages.profiles import views as profiles
from advisor.pages.runs import views as runs
from advisor.pages.study import views as studies

urlpatterns = [
    *action_urls(),
    path("", home.home, name="home"),
    path("live/", home.home_live, name="home-live"),
    path("studies/", studies.study_list, name="study-list"),
    path("studies/new/", new_study.study_new, name="study-new"),
    path("studies/<int:pk>/", studies.study_detail, name="study-detail"),
    path("studies/<int:pk>/live/", studies.study_live, name="study-live"),
    path("studies/<int:pk>/more/<slug:part>/<int:start>/", studies.study_more, name="study-more"),
    path("studies/<int:pk>/charts.json", studies.study_charts, name="study-charts"),
    path("studies/<int:pk>/runs.json", studies.board_charts, name="board-charts"),
    path("studies/<int:pk>/again/", new_study.study_again, name="study-again"),
    path(
        "studies/<int:pk>/recommendations/<int:recommendation>/my.cnf",
        exports.my_cnf,
        name="study-my-cnf",
    ),
    path(
        "studies/<int:pk>/recommendations/<int:recommendation>/export/",
        exports.study_export,
        name="study-export",
    ),
    path("groups/<int:pk>/", groups.group_detail, name="group-detail"),
    path("groups/<int:pk>/live/", groups.group_live, name="group-live"),
    path("gates/", gates.gate_list, name="gate-list"),
    path("gates/new/", gates.gate_new, name="gate-new"),
    path("gates/<int:pk>/", gates.gate_detail, name="gate-detail"),
    path("gates/<int:pk>/live/", gates.gate_live, name="gate-live"),
    path("gates/<int:pk>/charts.json", gates.gate_charts, name="gate-charts"),
    path("compare/", compare.compare, name="compare"),
    path("compare/charts.json", compare.compare_charts, name="compare-charts"),
    path("compare/devices/", compare.device_comparison, name="device-comparison"),
    path(
        "compare/devices/charts.json",
        compare.device_comparison_charts,
        name="device-comparison-charts",
    ),
    path("configs/<int:pk>/", config.config_detail, name="config-detail"),
    path("configs/<int:pk>/charts.json", config.config_charts, name="config-charts"),
    path("help/", help_pages.help_page, name="help"),
    path("help/<path:path>", help_pages.document, name="document"),
    path("hosts/", hosts.host_list, name="host-list"),
    path("hosts/<int:pk>/", hosts.host_detail, name="host-detail"),
    path("hosts/<int:pk>/live/", hosts.host_live, name="host-live"),
    path("hosts/<int:pk>/datasets/", hosts.host_datasets, name="host-datasets"),
    path("inspections/", hosts.path_inspect, name="path-inspect"),
    path("inspections/<int:pk>/", hosts.inspection_live, name="inspection-live"),
    path("devices/", devices.device_list, name="device-list"),
    path("devices/<int:pk>/", devices.device_detail, name="device-detail"),
    path(
        "devices/<int:pk>/history/charts.json",
        devices.device_history_charts,
        name="device-history-charts",
    ),
    path("devices/<int:pk>/live/", devices.device_live, name="device-live"),
    path("devices/<int:pk>/probes/<int:probe>/", devices.probe_detail, name="probe-detail"),
    path(
        "devices/<int:pk>/probes/<int:probe>/charts.json",
        devices.probe_charts,
        name="probe-charts",
    ),
    path("configs/check/", check.check_config, name="config-check"),
    path("profiles/", profiles.profile_list, name="profile-list"),
    path("profiles/script.sql", profiles.profile_script, name="profile-script"),
    path("studies/<int:pk>/server/", profiles.study_server, name="study-server"),
    path("profiles/compare/", profiles.profile_comparison, name="profile-comparison"),
    path("profiles/<int:pk>/", profiles.profile_detail, name="profile-detail"),
    path("runs/<int:pk>/", runs.run_detail, name="run-detail"),
    path("runs/<int:pk>/charts.json", runs.run_charts, name="run-charts"),
    path("runs/<int:pk>/seconds.csv", runs.run_seconds, name="run-seconds"),
    path("account/token/", account.token, name="account-token"),
    path("account/password/", account.PasswordChangeView.as_view(), name="account-password"),
    path(
        "login/",
        auth.LoginView.as_view(
            template_name="account/login.html", redirect_authenticated_user=True
        ),
        name="login",
    ),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
]
