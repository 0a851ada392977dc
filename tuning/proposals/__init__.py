"""Candidates that the advisor makes itself: published advice, worked out for this host."""
