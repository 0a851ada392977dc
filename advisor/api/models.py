"""What the API remembers of requests: keys under which clients created something."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class IdempotencyKey(models.Model):
    """One request that created a row, written in the same transaction as that row.

    A row here therefore means that the other is there, and two requests with one key cannot both
    create something, however they run.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, help_text="of the address and the body")
    made = models.BigIntegerField(help_text="the id of what was created")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "key"], name="one_request_per_key")
        ]

    def __str__(self) -> str:
        return self.key
