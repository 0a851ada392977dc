"""A user's own token."""
