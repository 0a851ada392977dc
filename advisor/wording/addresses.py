"""Addresses of pages that stand by the hundred in tables and charts."""

from __future__ import annotations

from functools import cache

from django.urls import reverse


def run_url(pk: int) -> str:
    """The address of a run's page, which a click on its point opens."""
    return f"{_before_the_number('run-detail')}{pk}/"


def study_url(pk: int) -> str:
    """The address of a study's page."""
    return f"{_before_the_number('study-detail')}{pk}/"


def gate_url(pk: int) -> str:
    """The address of a gate's page."""
    return f"{_before_the_number('gate-detail')}{pk}/"


def device_url(pk: int) -> str:
    """The address of a device's page."""
    return f"{_before_the_number('device-detail')}{pk}/"


# To find one takes Django as long as all else that a row of a table needs.
@cache
def _before_the_number(name: str) -> str:
    return reverse(name, args=[0]).removesuffix("0/")
