"""Messages between the two hosts of a run, as JSON in the row of the load job.

1. The load host says who it is (`Hello`), with a key for what is secret.
2. The measured host starts its server for that host alone and sends the `Order`, sealed.
3. The load host compares the clocks, starts the driver and says when each phase began (`Phases`).
4. It sends the driver's `Result`; a failure ends the job with its reason instead.

The load host makes a key pair for each job and keeps the private half in memory. So database, logs
and Redis only ever have the driver's password encrypted: HPKE (RFC 9180) with X25519, HKDF and
ChaCha20-Poly1305.
"""

from __future__ import annotations

import base64

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from pydantic import BaseModel, ConfigDict

from benchmarks.drivers.protocol import DriverResult, Load, Phase, Target, TransactionCounts
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.errors import BenchmarkError
from benchmarks.remote_load.link import ClockReading

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_PURPOSE = b"oltp-advisor load order"


class NotForUs(BenchmarkError, code="not_for_us"):
    """A sealed message was not made for this key, or was changed on its way."""


class Message(BaseModel):
    """Never changes; an unknown field is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Hello(Message):
    """Who will drive: `address` is where it comes from, `key` what its orders are sealed with.

    `facts` are those that make runs comparable, `encrypts` is whether its driver can use TLS.
    """

    address: str
    key: str
    driver: str
    driver_version: str
    encrypts: bool
    facts: dict[str, str]


class Order(Message):
    """The order to drive; it has the password, and is only ever sent sealed."""

    target: Target
    load: Load


class Phases(Message):
    """When each phase began by the load host's monotonic clock, None before that.

    `clock` is the first reading of the clocks.
    """

    clock: ClockReading
    warming: float | None = None
    measuring: float | None = None
    stopping: float | None = None

    def at(self, phase: Phase) -> float | None:
        """Return the instant of that phase."""
        found: float | None = getattr(self, phase.value)
        return found


class Result(Message):
    """The driver's result; `times` are the response times as base64 of `ResponseTimes`.

    `clock` is the reading of the clocks at the end, `cpu` that of `LoadSide`.
    """

    measured_seconds: float
    times: str
    counts: dict[str, TransactionCounts]
    driver_cpu_seconds: float
    output: str
    clock: ClockReading
    cpu: dict[str, float]

    @classmethod
    def of(cls, result: DriverResult, clock: ClockReading, cpu: dict[str, float]) -> Result:
        """Return the message with a driver's result."""
        return cls(
            measured_seconds=result.measured_seconds,
            times=base64.b64encode(result.times.to_bytes()).decode(),
            counts=dict(result.counts),
            driver_cpu_seconds=result.driver_cpu_seconds,
            output=result.output,
            clock=clock,
            cpu=cpu,
        )

    def driver_result(self) -> DriverResult:
        """Return the result as a driver on this host gives it."""
        return DriverResult(
            measured_seconds=self.measured_seconds,
            times=ResponseTimes.from_bytes(base64.b64decode(self.times)),
            counts=self.counts,
            driver_cpu_seconds=self.driver_cpu_seconds,
            output=self.output,
        )


def new_key() -> X25519PrivateKey:
    """Return the key pair of one job."""
    return X25519PrivateKey.generate()


def public_half(key: X25519PrivateKey) -> str:
    """Return the half of the key with which others seal messages for its owner."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def seal(message: str, public: str) -> str:
    """Seal a message for the owner of the key whose public half this is. Raises NotForUs."""
    try:
        receiver = X25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        sealed = _SUITE.encrypt(message.encode(), receiver, info=_PURPOSE)
    except ValueError as error:
        raise NotForUs("the load host's key is not a key") from error
    return base64.b64encode(sealed).decode()


def unseal(sealed: str, key: X25519PrivateKey) -> str:
    """Return the message. Raises NotForUs."""
    try:
        raw = base64.b64decode(sealed, validate=True)
        return _SUITE.decrypt(raw, key, info=_PURPOSE).decode()
    except (ValueError, InvalidTag) as error:
        raise NotForUs("the sealed message cannot be opened") from error
