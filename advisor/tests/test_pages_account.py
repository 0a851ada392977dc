"""The API token: one's own, shown once; the password."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

pytestmark = pytest.mark.django_db

ADDRESS = "account-token"


def test_a_token_is_shown_once_and_works(
    client: Client, admin_client: Client, admin_user: User
) -> None:
    answer = admin_client.post(reverse(ADDRESS), {"action": "create"}, follow=True)
    key = Token.objects.get(user=admin_user).key
    assert key in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    again = admin_client.get(reverse(ADDRESS)).content.decode()
    assert key not in again
    assert "Replace token" in again
    api = client.get(reverse("api-study-list"), headers={"Authorization": f"Token {key}"})
    assert api.status_code == 200


def test_a_new_token_ends_the_old_one(
    client: Client, admin_client: Client, admin_user: User
) -> None:
    admin_client.post(reverse(ADDRESS), {"action": "create"})
    old = Token.objects.get(user=admin_user).key
    admin_client.post(reverse(ADDRESS), {"action": "create"})
    assert Token.objects.get(user=admin_user).key != old
    api = client.get(reverse("api-study-list"), headers={"Authorization": f"Token {old}"})
    assert api.status_code == 401


def test_a_token_can_be_removed(admin_client: Client, admin_user: User) -> None:
    admin_client.post(reverse(ADDRESS), {"action": "create"})
    admin_client.post(reverse(ADDRESS), {"action": "revoke"})
    assert not Token.objects.filter(user=admin_user).exists()


def test_no_other_users_token_is_touched(admin_client: Client) -> None:
    other = User.objects.create_user("other")
    key = Token.objects.create(user=other).key
    answer = admin_client.post(reverse(ADDRESS), {"action": "create"}, follow=True)
    assert Token.objects.get(user=other).key == key
    assert key not in answer.content.decode()


def test_the_password_can_be_changed(admin_client: Client, admin_user: User) -> None:
    fresh = "a-long-new-password"
    fields = {"old_password": "password", "new_password1": fresh, "new_password2": fresh}
    answer = admin_client.post(reverse("account-password"), fields)
    assert answer["Location"] == reverse(ADDRESS)
    admin_user.refresh_from_db()
    assert admin_user.check_password(fresh)


def test_a_weak_password_is_refused_beside_its_field(admin_client: Client) -> None:
    fields = {"old_password": "password", "new_password1": "1234", "new_password2": "1234"}
    answer = admin_client.post(reverse("account-password"), fields)
    assert answer.status_code == 200
    assert b"too short" in answer.content
