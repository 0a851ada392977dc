"""The form for a new API token."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from advisor.access.models import Scope
from advisor.access.tokens import MAX_DAYS, MAX_TOKEN_NAME, allowed_scopes


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=MAX_TOKEN_NAME, help_text="What uses it, such as the name of a CI job."
    )
    scope = forms.ChoiceField()
    days = forms.IntegerField(
        label="Expires after, days",
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text="Empty: it does not expire.",
    )

    def __init__(self, *args: Any, user: User, **values: Any) -> None:
        super().__init__(*args, **values)
        allowed = allowed_scopes(user)
        # The rights of each role stand below the list: a narrow window would cut them inside.
        said = "; ".join(str(scope.label) for scope in allowed)
        self.fields["scope"] = forms.ChoiceField(
            choices=[(scope.value, scope.value) for scope in allowed],
            help_text=f"{said}. Never more than your own role.",
        )

    def chosen_scope(self) -> Scope:
        return Scope(self.cleaned_data["scope"])
