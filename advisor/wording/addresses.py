"""Addresses of pages that stand by the hundred in tables and charts."""

from __future__ import annotations

from django.urls import reverse


def run_url(pk: int) -> str:
    """The address of a run's page, which a click on its point opens."""
    return reverse("run-detail", args=[pk])


def study_url(pk: int) -> str:
    """The address of a study's page."""
    return reverse("study-detail", args=[pk])


def gate_url(pk: int) -> str:
    """The address of a gate's page."""
    return reverse("gate-detail", args=[pk])


def device_url(pk: int) -> str:
    """The address of a device's page."""
    return reverse("device-detail", args=[pk])
