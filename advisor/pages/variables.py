"""Compares what a config asked for with what the server said it runs with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SWITCHES = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


@dataclass(frozen=True)
class RequestedVariable:
    """`effective` is None when the server does not name the variable (or was never asked)."""

    name: str
    requested: str
    effective: str | None

    @property
    def differs(self) -> bool:
        return self.effective is not None and _plain(self.requested) != _plain(self.effective)


def compare_variables(
    requested: Mapping[str, str], effective: Mapping[str, str]
) -> tuple[list[RequestedVariable], list[tuple[str, str]]]:
    """The requested variables in the order of their names, and all others the server has."""
    compared = [
        RequestedVariable(name, requested[name], effective.get(name)) for name in sorted(requested)
    ]
    others = sorted((name, value) for name, value in effective.items() if name not in requested)
    return compared, others


def _plain(value: str) -> str:
    """`value` so that the same setting reads the same: ON is 1, 90.000000 is 90."""
    word = value.strip().lower()
    word = SWITCHES.get(word, word)
    try:
        number = float(word)
    except ValueError:
        return word
    # Integers of more than 15 digits (18446744073709551615) would lose their end in a float.
    return word if word.isdigit() else f"{number:g}"
