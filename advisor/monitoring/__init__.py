"""Monitoring by other programs: whether the advisor serves, and its figures for Prometheus."""
