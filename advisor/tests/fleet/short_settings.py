"""The advisor's settings with less patience, so that a test of a cut cable ends soon."""

from __future__ import annotations

from advisor.settings import *  # noqa: F403

LOST_AFTER_SECONDS = 5
