"""Search: proposes configs of its own, by a model of what was measured so far."""
