"""A recommendation as a file."""
