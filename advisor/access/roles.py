"""The three roles. Each is a Django group and may do all that the ones before it may."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import TextChoices


class Role(TextChoices):
    VIEWER = "viewer", "Viewer: reads"
    OPERATOR = "operator", "Operator: also starts, pauses, extends and cancels own studies"
    ADMINISTRATOR = "administrator", "Administrator: also hosts, devices, users, others' studies"

    def reaches(self, needed: Role) -> bool:
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER = list(Role)


def role_of(user: Any) -> Role | None:
    """The role of an account, None for nobody and for an account that is switched off."""
    return stored_role(user) if user.is_authenticated and user.is_active else None


def stored_role(user: Any) -> Role:
    """The highest role of an account, also of one that is switched off.

    An account in none of the groups reads only. The answer is kept on `user` for the request.
    """
    if user.is_superuser:
        return Role.ADMINISTRATOR
    if not hasattr(user, "kept_role"):
        names = set(user.groups.values_list("name", flat=True))
        user.kept_role = next((role for role in reversed(_ORDER) if role in names), Role.VIEWER)
    return Role(user.kept_role)


def set_role(user: User, role: Role) -> None:
    """Give `user` this role and no other."""
    others = Group.objects.filter(name__in=Role.values).exclude(name=role)
    group, _ = Group.objects.get_or_create(name=role)
    user.groups.remove(*others)
    user.groups.add(group)
    if user.is_superuser and role != Role.ADMINISTRATOR:
        user.is_superuser = False
        user.save(update_fields=["is_superuser"])
    user.__dict__.pop("kept_role", None)


def make_groups(**_: Any) -> None:
    """Make the groups that are missing; called after every migration."""
    Group.objects.bulk_create([Group(name=role) for role in Role], ignore_conflicts=True)
