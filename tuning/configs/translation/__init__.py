"""Settings carried to another server: one at a time (`settle`), a whole set (`translate`)."""
