"""Why a bundle cannot be written or read."""

from __future__ import annotations

from tuning.errors import TuningError


class BundleRefused(TuningError):
    """Nothing was stored. `code`: bundle_damaged, bundle_too_large, bundle_version,
    bundle_imported_before, study_running.
    """


def damaged(reason: str) -> BundleRefused:
    return BundleRefused("bundle_damaged", f"this is no bundle, or damaged: {reason}")
