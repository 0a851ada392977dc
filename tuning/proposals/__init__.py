"""Candidates that the advisor makes itself: the advice of each school, computed for this host."""
