"""Who may do what: one rule for every address and method, of pages and API alike.

An address or a method that is not here is refused to everybody.
`docs/reference/access.md` shows the table of these rules, which a test makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Model

from advisor.access.roles import Role
from tuning.actions.action import Action
from tuning.actions.table import ACTIONS


@dataclass(frozen=True)
class Owned:
    """Rows that only their owner and administrators may change.

    label: names the model, whose package may itself import this one.
    """

    label: str
    argument: str  # of the address: its id

    @property
    def model(self) -> type[Model]:
        return apps.get_model(self.label)


@dataclass(frozen=True)
class Rule:
    """`needs` is the least role, None: anybody, also without an account."""

    needs: Role | None
    own: Owned | None = None


ANYBODY = Rule(None)
READ = Rule(Role.VIEWER)
OPERATE = Rule(Role.OPERATOR)
ADMINISTER = Rule(Role.ADMINISTRATOR)

Rules = Mapping[str, Rule]
SHOWN: Rules = {"GET": READ}


def _shown(names: Iterable[str]) -> dict[str, Rules]:
    return dict.fromkeys(names, SHOWN)


def _rule_of(action: Action) -> Rule:
    own = Owned(action.subject.model._meta.label, "pk") if action.is_own else None
    return Rule(Role(action.role), own)


#: The rules of the buttons, from the table of actions.
OF_ACTIONS: dict[str, Rules] = {action.url_name: {"POST": _rule_of(action)} for action in ACTIONS}
SENT: Rules = {"POST": OPERATE}
MADE: Rules = {**SHOWN, **SENT}
#: Requests that are only read: they store and start nothing, or change one's own account only.
ASKED: Rules = {"GET": READ, "POST": READ}
PAGES: dict[str, Rules] = {
    **OF_ACTIONS,
    **_shown(
        (
            *("home", "home-live", "help", "document", "compare", "compare-charts"),
            *("study-list", "study-detail", "study-live", "study-more", "study-charts"),
            *("study-my-cnf", "study-server", "board-charts", "run-detail", "run-charts"),
            *("run-seconds", "config-detail", "config-charts", "group-detail", "group-live"),
            *("gate-list", "gate-detail", "gate-live", "gate-charts"),
            *("device-detail", "device-live", "device-history-charts", "probe-detail"),
            *("probe-charts", "device-comparison", "device-comparison-charts"),
            *("host-list", "host-detail", "host-live", "inspection-live"),
            *("profile-detail", "profile-script", "profile-comparison"),
        )
    ),
    "login": {"GET": ANYBODY, "POST": ANYBODY},
    # Leads to the log-in.
    "admin-login": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), ANYBODY),
    "logout": {"POST": READ},
    **dict.fromkeys(("study-export", "config-check", "account-token", "account-password"), ASKED),
    # Anything but what the host has already is for administrators; the view sees to it.
    "path-inspect": SENT,
    "host-datasets": {"GET": OPERATE},
    "profile-list": MADE,
    "study-new": {"GET": OPERATE, "POST": OPERATE},
    "gate-new": {"GET": OPERATE, "POST": OPERATE},
    "study-again": SENT,
    "device-list": {"GET": READ, "POST": ADMINISTER},
}
API: dict[str, Rules] = {
    **{f"api:{name}": rules for name, rules in OF_ACTIONS.items()},
    **_shown(
        (
            *("api:api-root", "api:openapi-json", "api:openapi-view", "api:version"),
            *("api:study-detail", "api:study-document", "api:study-events", "api:group-detail"),
            *("api:recommendation-list", "api:my-cnf", "api:comparison", "api:server-steps"),
            *("api:gate-detail", "api:gate-junit", "api:gate-markdown", "api:config"),
            *("api:run-list", "api:run-detail", "api:run-series", "api:run-log"),
            *("api:device-detail", "api:probe-list", "api:probe-detail", "api:server-list"),
            *("api:host-list", "api:host-detail", "api:inspection-detail", "api:templates"),
            *("api:profile-detail", "api:profile-comparison"),
            "api:emulation-profiles",
        )
    ),
    **dict.fromkeys(
        ("api:study-list", "api:group-list", "api:gate-list", "api:profile-list"), MADE
    ),
    **{f"api:{name}": {"POST": READ} for name in ("export", "config-check")},
    **dict.fromkeys(("api:proposals", "api:search-space", "api:inspection-list"), SENT),
    "api:device-list": {"GET": READ, "POST": ADMINISTER},
    "api:host-datasets": {"GET": OPERATE},
}
# Programs that watch the advisor ask these.
MONITORING: dict[str, Rules] = {
    "healthz": {"GET": ANYBODY},
    "readyz": {"GET": ANYBODY},
    "metrics": SHOWN,
}
# Django's own pages for accounts.
ADMIN: Rules = {"GET": ADMINISTER, "POST": ADMINISTER}
RULES: dict[str, Rules] = {**PAGES, **API, **MONITORING}


def is_api_operation(view_name: str) -> bool:
    """Whether tokens are read there; the API's description is a page."""
    if view_name == "metrics":
        return True
    return view_name.startswith("api:") and not view_name.startswith(("api:api-", "api:openapi-"))


def rules_of(view_name: str) -> Rules:
    """The rules of an address by method; none for an address that has none."""
    return ADMIN if view_name.startswith("admin:") else RULES.get(view_name, {})


def rule_for(view_name: str, method: str) -> Rule | None:
    """The rule; None for a method that the address does not take."""
    asked = "GET" if method in ("HEAD", "OPTIONS") else method
    return rules_of(view_name).get(asked)
