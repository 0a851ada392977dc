"""Whether a config may run, and what the server will make of it."""
