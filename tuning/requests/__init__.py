"""Requests: their fields, bounds and checks."""
