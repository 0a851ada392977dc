"""Additions to Django's account: API tokens, and a password that must be changed."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from advisor.access.roles import Role


class ApiToken(models.Model):
    """A token of the API. It ends by hand, at `expires_at` or with the password of its user.

    `role` limits it: it may never do more than that role, nor more than its user.
    The secret itself is not stored. `digest` finds its row; by `prefix` people tell their tokens
    apart. An expired token stays, so that a program is told that it has expired.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)  # SHA-256, in hexadecimal digits
    role = models.CharField(max_length=16, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "name"], name="token_names_are_unique")
        ]
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class PasswordDemand(models.Model):
    """A user who has to change a password that somebody else chose: then the row goes."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True
    )

    def __str__(self) -> str:
        return str(self.user)
