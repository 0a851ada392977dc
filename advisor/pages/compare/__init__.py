"""Runs, candidates, configs or studies side by side."""
