"""A study's life: asked for, prepared, measured run by run, paused, ended, extended."""
