"""Every signal that ends a command becomes KeyboardInterrupt, so that it cleans up."""

from __future__ import annotations

import signal
from typing import Any


def end_like_ctrl_c() -> None:
    """Handle SIGTERM, and the SIGHUP of a closed terminal, like Ctrl-C."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
