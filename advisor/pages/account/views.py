"""A user's own account: API tokens, each shown once, and the password."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth import views as auth
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor.access.models import ApiToken
from advisor.access.passwords import MUST_CHANGE
from advisor.access.roles import Role, role_of
from advisor.access.tokens import (
    MAX_DAYS,
    MAX_TOKEN_NAME,
    TokenRefused,
    allowed_roles,
    create_token,
)
from advisor.pages.devices.forms import set_choices
from advisor.pages.lists import read_id


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(
        max_length=MAX_TOKEN_NAME, help_text="What uses it, such as the name of a CI job."
    )
    role = forms.TypedChoiceField(coerce=Role)
    days = forms.IntegerField(
        label="Expires after, days",
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text="Empty: it does not expire.",
    )

    def __init__(self, *args: Any, user: User, **values: Any) -> None:
        super().__init__(*args, **values)
        allowed = allowed_roles(user)
        set_choices(self, "role", [(role.value, role.value) for role in allowed])
        # The rights of each role stand below the list: a narrow window would cut them inside.
        said = "; ".join(str(role.label) for role in allowed)
        self.fields["role"].help_text = f"{said}. Never more than your own role."


@never_cache
@require_http_methods(["GET", "POST"])
def token(request: HttpRequest) -> HttpResponse:
    """The user's tokens; on POST a new one, or `action=revoke` ends the one of `token`."""
    user = cast(User, request.user)
    if request.POST.get("action") == "revoke":
        pk = read_id(request.POST.get("token", ""))
        found = get_object_or_404(ApiToken, user=user, pk=pk)
        found.delete()
        messages.info(request, f"The token {found.name} is revoked.")
        return redirect("account-token")
    form = TokenForm(request.POST if request.method == "POST" else None, user=user)
    fresh = _created(form, user) if form.is_bound and form.is_valid() else None
    context: dict[str, Any] = {
        # Not kept anywhere: to reload the page asks for a token of the same name, and is refused.
        "fresh": fresh,
        "form": TokenForm(user=user) if fresh else form,
        "tokens": ApiToken.objects.filter(user=user),
        "role": role_of(user),
    }
    status = 400 if form.errors else 200
    return render(request, "account/token.html", context, status=status)


def _created(form: TokenForm, user: User) -> str | None:
    data = form.cleaned_data
    try:
        return create_token(user, data["name"], data["role"], data["days"])
    except TokenRefused as refused:
        form.add_error(refused.field, f"{refused}")
        return None


class PasswordChangeView(auth.PasswordChangeView):
    template_name = "account/password.html"
    success_url = reverse_lazy("account-token")

    def form_valid(self, form: Any) -> HttpResponse:
        self.request.session.pop(MUST_CHANGE, None)
        messages.info(self.request, "The password is changed; all API tokens are revoked.")
        return super().form_valid(form)

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        must_change = MUST_CHANGE in self.request.session
        return super().get_context_data(must_change=must_change, **values)
