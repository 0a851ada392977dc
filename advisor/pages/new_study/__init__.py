"""Asking for a study."""
