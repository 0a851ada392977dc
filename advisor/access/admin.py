"""Accounts, with the role as one choice. Tokens are their users' own."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse

from advisor.access.passwords import demand_change
from advisor.access.roles import Role, role_of, set_role, stored_role

LAST = "This is the last administrator: make another one first."


class RoleField(forms.ChoiceField):
    def __init__(self) -> None:
        super().__init__(choices=Role.choices, initial=Role.VIEWER)


class AccountForm(UserChangeForm):  # type: ignore[type-arg]
    role = RoleField()

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.initial["role"] = stored_role(self.instance)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        stays = data.get("role") == Role.ADMINISTRATOR and data.get("is_active", True)
        if not stays and self.instance.pk and is_last_administrator(self.instance):
            raise ValidationError(LAST)
        return data


class NewAccountForm(AdminUserCreationForm):  # type: ignore[type-arg]
    role = RoleField()


admin.site.unregister([User, Group])


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    """Accounts are switched off, not deleted: what they started names them.

    The site is open to administrators only: Django's single permissions are not used.
    """

    form = AccountForm
    add_form = NewAccountForm
    list_display = ("username", "role", "is_active", "last_login")
    list_filter = ("is_active", "groups")
    search_fields = ("username",)
    fieldsets = ((None, {"fields": ("username", "password", "role", "is_active")}),)
    add_fieldsets = (
        (
            None,
            {
                "description": "The password is to be changed at the first log-in.",
                "fields": ("username", "usable_password", "password1", "password2", "role"),
            },
        ),
    )

    @admin.display
    def role(self, user: User) -> str:
        return stored_role(user).label.split(":")[0]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        set_role(form.instance, Role(form.cleaned_data["role"]))
        if not change:
            demand_change(form.instance)

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        """A password that somebody else chose is to be changed."""
        answer: HttpResponse = super().user_change_password(request, id, form_url)
        if request.method == "POST" and answer.status_code == 302 and id != str(request.user.pk):
            demand_change(User.objects.get(pk=id))
        return answer


def is_last_administrator(user: User) -> bool:
    """Whether nobody would be left to make another one."""
    if role_of(user) != Role.ADMINISTRATOR:
        return False
    able = Q(is_superuser=True) | Q(groups__name=Role.ADMINISTRATOR)
    return not User.objects.filter(able, is_active=True).exclude(pk=user.pk).exists()
