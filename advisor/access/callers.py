"""Who calls, and whether that caller may do what the rules say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.access.roles import Role, role_of
from advisor.access.rules import Owned, Rule, rule_for


class Refused(Exception):
    """The caller may not do this; the text is the reason, for people."""


@dataclass(frozen=True)
class Caller:
    """`role` is None for nobody. `limit` is the role that the caller's token is limited to."""

    role: Role | None
    user: int | None = None
    limit: Role | None = None

    @property
    def effective(self) -> Role | None:
        """The role of the account, or of the token if that is less."""
        if self.role is None or self.limit is None or not self.role.reaches(self.limit):
            return self.role
        return self.limit

    def is_at_least(self, needed: Role) -> bool:
        return self.effective is not None and self.effective.reaches(needed)

    @property
    def is_administrator(self) -> bool:
        return self.is_at_least(Role.ADMINISTRATOR)


def caller_of(request: Any) -> Caller:
    """Return the caller of a page's request, or of the API's with its token (`request.auth`)."""
    limit = getattr(getattr(request, "auth", None), "role", None)
    return Caller(role_of(request.user), request.user.pk, limit and Role(limit))


def check(caller: Caller, rule: Rule, arguments: Mapping[str, Any]) -> None:
    """Hold a request with these `arguments` of its address against the rule. Raises Refused."""
    if rule.needs is None:
        return
    _check_role(caller, rule.needs)
    if rule.own and not caller.is_administrator:
        _check_owner(caller, rule.own, _owner(rule.own, arguments))


def may(caller: Caller, view_name: str, thing: Any = None, method: str = "POST") -> bool:
    """Whether a page offers this; `thing` is the row that the rule may want to be one's own."""
    rule = rule_for(view_name, method)
    if rule is None:
        raise LookupError(f"advisor/access/rules.py has no rule for {method} {view_name}")
    if rule.needs is None:
        return True
    if not caller.is_at_least(rule.needs):
        return False
    return rule.own is None or caller.is_administrator or thing.created_by_id == caller.user


def _check_role(caller: Caller, needed: Role) -> None:
    if caller.is_at_least(needed):
        return
    if caller.role is not None and caller.role.reaches(needed):
        reason = f"This needs a token of the role {needed.value}."
    else:
        role = caller.role.value if caller.role else "none"
        reason = f"This needs the role {needed.value}; the role of your account is {role}."
    raise Refused(reason)


def _check_owner(caller: Caller, own: Owned, owners: list[int | None]) -> None:
    # A row that is not there is the view's business: it answers 404.
    if owners and owners != [caller.user]:
        name = own.model._meta.verbose_name
        raise Refused(
            f"This {name} was started by somebody else: it is for that user or an administrator."
        )


def _owner(own: Owned, arguments: Mapping[str, Any]) -> list[int | None]:
    rows = own.model._default_manager.filter(pk=arguments[own.argument])
    return list(rows.values_list("created_by", flat=True))
