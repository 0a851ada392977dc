"""Hands a secret over so that only one process of the load host can read it.

The load host makes a key pair for one job and keeps the private half in memory. The measured host
encrypts the driver's password with the public half: HPKE (RFC 9180) with X25519, HKDF and
ChaCha20-Poly1305. Database, logs and Redis only ever have the ciphertext.
"""

from __future__ import annotations

import base64

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from benchmarks.errors import BenchmarkError

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_PURPOSE = b"oltp-advisor load order"


class NotForUs(BenchmarkError, code="not_for_us"):
    """A sealed message was not made for this key, or was changed on its way."""


class Seal:
    """The key pair of one job."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()

    @property
    def public(self) -> str:
        """The key with which the other side seals a message for us."""
        return base64.b64encode(self._private.public_key().public_bytes_raw()).decode()

    def open(self, sealed: str) -> str:
        """Return the message. Raises NotForUs."""
        try:
            raw = base64.b64decode(sealed, validate=True)
            return _SUITE.decrypt(raw, self._private, info=_PURPOSE).decode()
        except (ValueError, InvalidTag) as error:
            raise NotForUs("the sealed message cannot be opened") from error


def seal(message: str, public: str) -> str:
    """Seal `message` for the load host whose key is `public`. Raises NotForUs."""
    try:
        receiver = X25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        sealed = _SUITE.encrypt(message.encode(), receiver, info=_PURPOSE)
    except ValueError as error:
        raise NotForUs("the load host's key is not a key") from error
    return base64.b64encode(sealed).decode()
