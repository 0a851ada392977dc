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

    label: of the model, which may be of a package that asks this one about roles.
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
PAGES: dict[str, Rules] = {
    **OF_ACTIONS,
    "login": {"GET": ANYBODY, "POST": ANYBODY},
    # Leads to the log-in.
    "admin-login": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), ANYBODY),
    "logout": {"POST": READ},
    **_shown(("home", "home-live")),
    **_shown(
        ("study-list", "study-detail", "study-live", "study-more", "study-charts", "study-my-cnf")
    ),
    **_shown(("board-charts", "run-seconds", "compare", "compare-charts")),
    **_shown(("config-detail", "config-charts", "help", "document")),
    **_shown(("run-detail", "run-charts", "device-comparison", "device-comparison-charts")),
    **_shown(("device-detail", "device-live", "probe-detail", "probe-charts")),
    **_shown(("device-history-charts",)),
    **_shown(("host-list", "host-detail", "host-live")),
    # Anything but what the host has already is for administrators; the view sees to it.
    "path-inspect": {"POST": OPERATE},
    "inspection-live": SHOWN,
    "host-datasets": {"GET": OPERATE},
    # Reads what was measured; nothing is stored or started.
    "study-export": {"GET": READ, "POST": READ},
    "config-check": {"GET": READ, "POST": READ},
    "profile-list": {"GET": READ, "POST": OPERATE},
    **_shown(("profile-detail", "profile-script", "profile-comparison", "study-server")),
    "study-new": {"GET": OPERATE, "POST": OPERATE},
    "study-again": {"POST": OPERATE},
    **_shown(("group-detail", "group-live")),
    **_shown(("gate-list", "gate-detail", "gate-live", "gate-charts")),
    "device-list": {"GET": READ, "POST": ADMINISTER},
    # One's own account only.
    "account-token": {"GET": READ, "POST": READ},
    "account-password": {"GET": READ, "POST": READ},
}
API: dict[str, Rules] = {
    **{f"api:{name}": rules for name, rules in OF_ACTIONS.items()},
    **_shown(("api:api-root", "api:openapi-json", "api:openapi-view")),
    "api:study-list": {"GET": READ, "POST": OPERATE},
    **_shown(("api:study-detail", "api:study-document", "api:study-events")),
    **_shown(("api:recommendation-list", "api:my-cnf")),
    "api:group-list": {"GET": READ, "POST": OPERATE},
    "api:group-detail": SHOWN,
    "api:gate-list": {"GET": READ, "POST": OPERATE},
    **_shown(("api:gate-detail", "api:gate-junit", "api:gate-markdown")),
    **_shown(("api:run-list", "api:run-detail", "api:run-series", "api:run-log")),
    # These read what is measured or sent; nothing is stored or started.
    "api:export": {"POST": READ},
    "api:config-check": {"POST": READ},
    "api:config-diff": {"POST": READ},
    "api:profile-list": {"GET": READ, "POST": OPERATE},
    **_shown(("api:profile-detail", "api:profile-comparison", "api:server-steps")),
    "api:proposals": {"POST": OPERATE},
    "api:search-space": {"POST": OPERATE},
    "api:device-list": {"GET": READ, "POST": ADMINISTER},
    **_shown(("api:device-detail", "api:probe-list", "api:probe-detail")),
    **_shown(("api:host-list", "api:host-detail", "api:inspection-detail")),
    "api:inspection-list": {"POST": OPERATE},
    "api:host-datasets": {"GET": OPERATE},
    **_shown(("api:server-list", "api:config", "api:comparison", "api:templates")),
    **_shown(("api:published", "api:emulation-profiles", "api:version")),
}
# For programs that watch the advisor.
MONITORING: dict[str, Rules] = {
    "healthz": {"GET": ANYBODY},
    "readyz": {"GET": ANYBODY},
    "metrics": SHOWN,
}
# Django's own pages for accounts and groups.
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
