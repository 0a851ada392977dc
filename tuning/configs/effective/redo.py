"""Whether the redo log of a config fits on its device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.storage.human import human_bytes
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.variables import REDO
from tuning.configs.values import readable


@dataclass(frozen=True)
class TooLarge:
    """`name`: the knob that sizes the redo log, "" where the server does; `reason` in words."""

    name: str
    reason: str


def too_large_redo(
    knobs: Mapping[str, str], target: ServerTraits, host: HostFacts, free_bytes: int
) -> TooLarge | None:
    """The problem of a redo log that does not fit into what the data leaves; None if it does."""
    redo = Expected(knobs, target, host).redo() or 0
    if redo <= free_bytes:
        return None
    reason = (
        f"a redo log of {readable(redo)} does not fit on the device: "
        f"the data leaves {human_bytes(max(free_bytes, 0))}"
    )
    return TooLarge(next((name for name in REDO if name in knobs), ""), reason)
