"""The advisor's settings for a study that is hit more often in minutes than others in years."""

from __future__ import annotations

import os

from advisor.tests.fleet.short_settings import *  # noqa: F403

# `--fake`: see there.
if os.environ.get("ADVISOR_TEST_FAKES"):
    CELERY_IMPORTS = ["bench.faults.fake_worker"]
# What hits a run here is never the config's doing, so there is no last time.
LOST_RUN_RETRIES = DISK_FULL_RUN_RETRIES = DISTURBED_RUN_RETRIES = 100
