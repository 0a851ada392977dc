"""Figures that others published, kept apart from everything measured here. No Django."""
