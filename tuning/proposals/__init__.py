"""Candidates that the advisor makes itself: what each school advises, worked out for this host."""
