"""Datasets: loaded in bulk, kept as golden copies, cloned for every run. No Django here."""

from __future__ import annotations
