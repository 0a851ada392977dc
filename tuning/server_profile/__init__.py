"""A profile of a real server: what its variables, counters and sizes say, and how it was read."""
