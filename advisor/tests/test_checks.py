"""The tests leave the checkout's own home alone, and the two calls of pytest leave no test out."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]


def test_tests_keep_out_of_the_home_of_the_checkout() -> None:
    places = [settings.HOME, settings.RUN_DIR, settings.LOG_DIR]
    assert not any(place.is_relative_to(ROOT) for place in [*places, settings.DEFAULT_DEVICE])


def test_make_test_leaves_no_test_out() -> None:
    [recipe] = re.findall(r"^pytest:\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert re.findall(r"-m (.+)$", recipe, re.M) == ['"not alone"', "alone"]
