"""How much a config asks of its user: the variables that it sets otherwise than the baseline."""

from __future__ import annotations

from collections.abc import Mapping


def count_changes(knobs: Mapping[str, Mapping[str, str]], baseline: str) -> dict[str, int]:
    """By config the number of variables that it sets otherwise than the baseline, or leaves out.

    `knobs`: by config what it sets, normalised; the baseline must be among them.
    """
    usual = knobs[baseline]
    return {
        name: sum(mine.get(knob) != usual.get(knob) for knob in {*mine, *usual})
        for name, mine in knobs.items()
    }
