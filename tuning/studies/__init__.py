"""The life cycle of a study: requested, prepared, measured, paused, ended, extended."""
