"""Hands a secret over so that only one process of the load host can read it.

The load host makes a key pair for one job and keeps the private half in memory. The measured host
encrypts the driver's password with the public half: X25519, HKDF and ChaCha20-Poly1305, as in
libsodium's sealed boxes. Database, logs and Redis only ever have the ciphertext.
"""

from __future__ import annotations

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from benchmarks.errors import BenchmarkError

_KEY_BYTES = 32
_NONCE_BYTES = 12
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
        """The message. Raises NotForUs."""
        try:
            raw = base64.b64decode(sealed, validate=True)
            sender = X25519PublicKey.from_public_bytes(raw[:_KEY_BYTES])
            nonce = raw[_KEY_BYTES : _KEY_BYTES + _NONCE_BYTES]
            key = _derived(self._private, sender)
            opened = ChaCha20Poly1305(key).decrypt(nonce, raw[_KEY_BYTES + _NONCE_BYTES :], None)
        except (ValueError, InvalidTag) as error:
            raise NotForUs("the sealed message cannot be opened") from error
        return opened.decode()


def seal(message: str, public: str) -> str:
    """`message`, to be read with the key pair that `public` is of. Raises NotForUs."""
    try:
        receiver = X25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
    except ValueError as error:
        raise NotForUs("the load host's key is not a key") from error
    ours = X25519PrivateKey.generate()
    nonce = os.urandom(_NONCE_BYTES)
    secret = ChaCha20Poly1305(_derived(ours, receiver)).encrypt(nonce, message.encode(), None)
    return base64.b64encode(ours.public_key().public_bytes_raw() + nonce + secret).decode()


def _derived(private: X25519PrivateKey, public: X25519PublicKey) -> bytes:
    shared = private.exchange(public)
    return HKDF(hashes.SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(shared)
