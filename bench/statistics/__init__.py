"""Simulated studies that hold the statistics to their promises: `make bench-statistics`."""
