"""Bad settings: each is read as at the start of a program, and named by the error."""

from __future__ import annotations

import os
import random
import runpy
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from advisor.tests.bad_input.judging import Case, Said

_SETTINGS = Path(__file__).resolve().parents[2] / "settings.py"
_LIMITS = (
    *("ADVISOR_STEAL_LIMIT_PCT", "ADVISOR_FOREIGN_CPU_LIMIT_PCT", "ADVISOR_FOREIGN_IO_LIMIT_PCT"),
    *("ADVISOR_STALL_LIMIT_PCT", "ADVISOR_SWAP_LIMIT_MB_S", "ADVISOR_HOST_GONE_HOURS"),
    "ADVISOR_LOAD_CPU_LIMIT_PCT",
)
_COUNTS = (
    *("ADVISOR_DATASET_DAYS", "ADVISOR_SERIES_DAYS", "ADVISOR_DISTURBED_RETRIES"),
    *("ADVISOR_LOAD_PORT", "ADVISOR_LOAD_PROCESSES", "ADVISOR_PORT"),
)


def setting_cases(
    home: Path, dice: random.Random, patch: pytest.MonkeyPatch, number: int
) -> Iterator[Case]:
    """Each variable with values that it cannot have, `number` of them drawn."""
    for name, values in bad_settings(dice).items():
        for value in values:
            yield _case(home, patch, name, value)
    for _ in range(number):
        name = dice.choice((*_LIMITS, *_COUNTS))
        yield _case(home, patch, name, "".join(dice.choices("0123456789.-+eE_xq ", k=6)) + "q")


def bad_settings(dice: random.Random) -> dict[str, tuple[str, ...]]:
    """By variable what it cannot be."""
    drawn = "".join(dice.choices("qwxyz", k=8))
    return {
        **dict.fromkeys(_LIMITS, (drawn, "-1", "nan", "inf", "1,5", "5%")),
        **dict.fromkeys(_COUNTS, (drawn, "-1", "1.5", "0x10", "9" * 30)),
        "ADVISOR_DEBUG": (drawn, "2"),
        "ADVISOR_FIRST_STUDY": (drawn, "-1"),
        "ADVISOR_NOTIFY_URL": ("ftp://x", f"http://{drawn}/", drawn, "https://ci.example.org"),
        "ADVISOR_HTTPS": (drawn,),
        "ADVISOR_LOAD_TLS": (drawn, "no way"),
        "ADVISOR_PROXY": (drawn, "10.0.0.0/99", "10.0.0.1/8", "1.2.3", "::/999", "localhost"),
        "ADVISOR_LOAD_ADDRESS": (drawn, "10.0.0", "10.0.0.0/8", "example.org"),
        "ADVISOR_LOAD_CLIENT_ADDRESS": (drawn, "10.0.0"),
        "ADVISOR_SERVERS": ("mysqld", "./mysqld", f"/usr/sbin/mysqld:{drawn}", "~/mysqld"),
        "ADVISOR_DEVICES": ("data", f"/srv:{drawn}", "~"),
        "ADVISOR_DEVICE": ("data", drawn, "~/device"),
        "ADVISOR_MEASURING_LOCK": (drawn, f"/nowhere/{drawn}/lock"),
        "ADVISOR_DISK_RESERVE": (drawn, "-5G", "500%", "5X", "nan"),
        "ADVISOR_TIME_ZONE": (drawn, "Europe/Nowhere", "../../etc/passwd"),
        "ADVISOR_LOG_LEVEL": (drawn, "7"),
        "ADVISOR_HOST_NAME": ("a b", "", "../x", "x" * 300, f"{drawn}/x", "db;1"),
        "ADVISOR_BIND": (drawn + " x", "300.1.1.1", "127.0.0.1:80"),
        "ADVISOR_TRUSTED_ORIGINS": (drawn, "example.org", "ftp//x"),
        "ADVISOR_HOME": ("/proc/nowhere", "/dev/null"),
        "DATABASE_URL": (
            *(drawn, "mysql://x/y", "oracle://x", f"{drawn}://x", "postgres://", "://"),
            *("postgres://host:port/db", "postgres://h:99999/db", "sqlite:", "sqlite://"),
            *("postgres://[::1/db", "postgres:db"),
            "postgres:///",
            "\\",
        ),
        "REDIS_URL": (drawn, "http://x", "rediss:", "redis://h:port/0", "redis://h:99999/0"),
    }


def _case(home: Path, patch: pytest.MonkeyPatch, name: str, value: str) -> Case:
    return Case(f"{name}={value[:60]!r}", (name,), partial(_read, home, patch, name, value))


def _read(home: Path, patch: pytest.MonkeyPatch, name: str, value: str) -> Said:
    with patch.context() as here:
        for known in [key for key in os.environ if key.startswith("ADVISOR_")]:
            here.delenv(known)
        for known in ("DATABASE_URL", "REDIS_URL"):
            here.delenv(known, raising=False)
        here.setenv("ADVISOR_HOME", str(home))
        here.setenv(name, value)
        try:
            runpy.run_path(str(_SETTINGS))
        except ImproperlyConfigured as error:
            return Said(str(error), True, "ImproperlyConfigured")
    return Said("accepted", False, "")
