"""API tokens: one's own, several, shown once; the password; the first account."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings
from rich.console import Console

from advisor.access.models import ApiToken, PasswordDemand
from advisor.access.passwords import make_first_account
from advisor.access.roles import Role, role_of, set_role
from advisor.access.tokens import TokenRefused, create_token
from advisor.management.commands import serve
from advisor.tests import factories
from advisor.upkeep.housekeeping import keep_house

pytestmark = pytest.mark.django_db

ADDRESS = "account-token"
STUDIES = "/api/v1/studies/"


def asked(token: str, path: str = STUDIES, method: str = "get") -> tuple[int, str]:
    """Status and message of a request with this token and no session."""
    client = Client(headers={"Authorization": f"Bearer {token}"})
    answer = getattr(client, method)(path, content_type="application/json")
    return answer.status_code, answer.json().get("error", {}).get("message", "")


def created(client: Client, **fields: str) -> str:
    """The page after asking for a token."""
    answer = client.post(
        reverse(ADDRESS), {"action": "create", "name": "ci", "role": "operator", **fields}
    )
    assert "no-store" in answer["Cache-Control"]
    return answer.content.decode()


def shown_token(page: str) -> str:
    return page.split('id="token-text"')[1].split(">")[1].split("<")[0]


# --- tokens on the page --------------------------------------------------------------------------


def test_a_token_is_shown_once_works_and_is_stored_hashed(admin_client: Client) -> None:
    token = shown_token(created(admin_client))
    assert token.startswith("oltp_")
    assert asked(token)[0] == 200
    again = admin_client.get(reverse(ADDRESS)).content.decode()
    assert token not in again
    assert token[:10] in again
    assert "never" not in again  # it was used
    [row] = ApiToken.objects.values_list()
    assert not any(token in str(value) for value in row)


def test_several_tokens_have_names_and_end_one_by_one(admin_client: Client) -> None:
    one = shown_token(created(admin_client, name="one"))
    two = shown_token(created(admin_client, name="two", days="30"))
    assert "there is a token &#x27;one&#x27; already" in created(admin_client, name="one")
    row = ApiToken.objects.get(name="one")
    admin_client.post(reverse(ADDRESS), {"action": "revoke", "token": row.pk})
    assert asked(one)[0] == 401
    assert asked(two)[0] == 200
    left = ApiToken.objects.get()
    assert left.expires_at is not None
    assert abs(left.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_a_token_can_be_revoked_by_its_user_only(admin_client: Client) -> None:
    other = factories.make_user("other", Role.OPERATOR)
    token = create_token(other, "ci", Role.OPERATOR)
    row = ApiToken.objects.get()
    answer = admin_client.post(reverse(ADDRESS), {"action": "revoke", "token": row.pk})
    assert answer.status_code == 404
    assert token[:10] not in admin_client.get(reverse(ADDRESS)).content.decode()
    assert asked(token)[0] == 200


def test_a_token_never_goes_beyond_the_role(client: Client) -> None:
    user = factories.make_user("eve", Role.VIEWER)
    client.force_login(user)
    page = client.get(reverse(ADDRESS)).content.decode()
    assert 'value="operator"' not in page
    assert "CI and scripts can read rankings in your name" in page
    assert "start" not in page.partition("New token")[2].partition("How to use it")[0]
    created(client, role="operator")
    assert not ApiToken.objects.exists()
    with pytest.raises(TokenRefused):
        create_token(user, "ci", Role.ADMINISTRATOR)
    set_role(user, Role.ADMINISTRATOR)
    token = create_token(user, "ci", Role.ADMINISTRATOR)
    drain = f"/api/v1/hosts/{factories.make_host().pk}/actions/drain/"
    assert asked(token, drain, "post")[0] == 200
    set_role(user, Role.VIEWER)
    assert asked(token, drain, "post") == (
        403,
        "This needs the role administrator; the role of your account is viewer.",
    )


def test_an_expired_token_is_told_from_a_wrong_one_also_after_housekeeping(client: Client) -> None:
    user = factories.make_user("dba", Role.OPERATOR)
    token = create_token(user, "ci", Role.OPERATOR, days=1)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    list(keep_house(None))
    assert asked(token) == (401, "The token has expired.")
    client.force_login(user)
    assert "expired" in client.get(reverse(ADDRESS)).content.decode()
    assert asked(create_token(user, "ci", Role.OPERATOR))[0] == 200


def test_tokens_end_with_the_password_and_rest_while_the_account_is_off() -> None:
    user = factories.make_user("dba", Role.OPERATOR)
    token = create_token(user, "ci", Role.OPERATOR)
    User.objects.update(is_active=False)
    assert asked(token)[0] == 401
    User.objects.update(is_active=True)
    assert asked(token)[0] == 200
    user.set_password("a-long-new-password")
    user.save()
    assert asked(token) == (401, "The token is not valid.")
    assert not ApiToken.objects.exists()


# --- the command ---------------------------------------------------------------------------------


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("token", *arguments, stdout=out)
    return out.getvalue().strip()


def test_the_command_prints_a_token_of_an_account_of_its_own() -> None:
    token = command("create", "--role", "operator", "nightly")
    user = User.objects.get()
    assert (user.username, role_of(user)) == ("nightly", Role.OPERATOR)
    assert not user.has_usable_password()
    assert asked(token)[0] == 200
    assert token not in command("list")
    assert "nightly  nightly  operator  no expiry" in command("list")
    command("revoke", "nightly")
    assert asked(token)[0] == 401


def test_the_command_refuses_what_goes_beyond_the_account(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = User.objects.create_user("eve", password="a password")
    for arguments, code in (
        (["create", "--role", "operator", "--user", "eve", "ci"], "role_too_large"),
        (["create", "--role", "viewer", "eve"], "account_of_a_person"),
        (["create", "--role", "viewer", "--user", "nobody", "ci"], "no_account"),
        (["revoke", "--user", "eve", "ci"], "no_token"),
    ):
        with pytest.raises(SystemExit):
            call_command("token", *arguments)
        assert code in capsys.readouterr().err
    assert asked(command("create", "--role", "viewer", "--user", "eve", "--days", "3", "ci"))
    assert ApiToken.objects.get().user == person


# --- passwords -----------------------------------------------------------------------------------


@pytest.fixture
def private(settings: Settings, tmp_path: Path) -> Path:
    settings.PRIVATE_DIR = tmp_path
    return tmp_path


def test_the_first_account_has_its_password_in_a_private_file_and_chooses_another(
    private: Path, client: Client
) -> None:
    (private / "first-password").symlink_to(private / "elsewhere")
    out = io.StringIO()
    serve._print_first_login(Console(file=out))
    path = private / "first-password"
    password = path.read_text().strip()
    assert str(path) in out.getvalue()
    assert password not in out.getvalue()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not (private / "elsewhere").exists()
    assert role_of(User.objects.get()) == Role.ADMINISTRATOR
    assert make_first_account() == path  # said at every start until it is changed
    assert path.read_text().strip() == password

    client.post(reverse("login"), {"username": "admin", "password": password})
    for address in ("/", reverse("device-list"), reverse(ADDRESS)):
        assert client.get(address)["Location"] == reverse("account-password")
    assert client.get(STUDIES).status_code == 403
    page = client.get(reverse("account-password")).content.decode()
    assert "This password was made for you: choose one of your own" in page
    fresh = "a-long-new-password"
    fields = {"old_password": password, "new_password1": fresh, "new_password2": fresh}
    client.post(reverse("account-password"), fields)
    assert client.get("/").status_code == 200
    assert client.get(STUDIES).status_code == 200
    assert not path.exists()
    assert make_first_account() is None


def test_there_is_no_first_account_without_its_password(private: Path, settings: Settings) -> None:
    settings.PRIVATE_DIR = private / "not there"
    with pytest.raises(FileNotFoundError):
        make_first_account()
    assert not User.objects.exists()
    settings.PRIVATE_DIR = private
    assert make_first_account() == private / "first-password"


# --- Django's pages for accounts -----------------------------------------------------------------


@pytest.fixture
def post(client: Client) -> Callable[[str, dict[str, str]], str]:
    client.force_login(factories.make_user("boss", Role.ADMINISTRATOR))

    def send(path: str, fields: dict[str, str]) -> str:
        answer = client.post(path, fields, follow=True)
        assert answer.status_code == 200
        return answer.content.decode()

    return send


def test_an_administrator_makes_accounts_and_changes_roles(
    post: Callable[[str, dict[str, str]], str], client: Client
) -> None:
    secret = "a-long-new-password"
    new = {"username": "eve", "usable_password": "true", "password1": secret}
    post("/admin/auth/user/add/", {**new, "password2": secret, "role": "operator"})
    eve = User.objects.get(username="eve")
    assert role_of(eve) == Role.OPERATOR
    assert PasswordDemand.objects.filter(user=eve).exists()
    post(
        f"/admin/auth/user/{eve.pk}/change/",
        {"username": "eve", "role": "viewer", "is_active": "on"},
    )
    assert role_of(User.objects.get(pk=eve.pk)) == Role.VIEWER
    boss = User.objects.get(username="boss")
    page = post(
        f"/admin/auth/user/{boss.pk}/change/",
        {"username": "boss", "role": "viewer", "is_active": "on"},
    )
    assert "This is the last administrator" in page
    assert role_of(User.objects.get(pk=boss.pk)) == Role.ADMINISTRATOR
    index = client.get("/admin/").content.decode()
    assert "API token" not in index
    assert client.get("/admin/auth/group/").status_code == 404
    assert client.get("/admin/auth/user/").status_code == 200
