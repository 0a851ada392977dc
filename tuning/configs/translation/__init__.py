"""Translates settings to another server: one at a time (`setting`), a whole set (`translate`)."""
