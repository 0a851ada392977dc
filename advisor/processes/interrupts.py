"""What ends a command of ours is always the same: KeyboardInterrupt, so that it cleans up."""

from __future__ import annotations

import signal
from typing import Any


def end_like_ctrl_c() -> None:
    """Let SIGTERM, and the SIGHUP of a terminal that was closed, do what Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
