"""Translates settings to another server: one at a time (`carry`), a whole set (`translate`)."""
