"""Secrets and signatures as the Standard Webhooks specification has them (standardwebhooks.com).

With the standard library: the specification's own package brings an HTTP client and four more
packages for the one line below.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32
_PURPOSE: Final = b"oltp-advisor webhooks"


class SecretLost(Exception):
    """The stored secret was sealed with another ADVISOR_SECRET_KEY."""


def new_secret() -> str:
    """What a receiver verifies signatures with."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers that sign `body`. `timestamp`: of this attempt, in seconds since 1970."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": f"{timestamp}",
        "webhook-signature": f"v1,{signature}",
    }


def sealed(secret: str) -> str:
    """The secret as it is stored: to be read with this installation's ADVISOR_SECRET_KEY only."""
    return _fernet().encrypt(secret.encode()).decode()


def opened(stored: str) -> str:
    """Raises SecretLost."""
    try:
        return _fernet().decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise SecretLost from error


def _fernet() -> Fernet:
    derived = HKDF(hashes.SHA256(), _SECRET_BYTES, salt=None, info=_PURPOSE)
    return Fernet(base64.urlsafe_b64encode(derived.derive(settings.SECRET_KEY.encode())))
