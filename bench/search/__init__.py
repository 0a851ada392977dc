"""Searches replayed on recorded surfaces: `make bench-search`."""
